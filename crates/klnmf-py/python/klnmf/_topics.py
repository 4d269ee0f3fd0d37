"""Topic models of counts, documents × words as in scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from klnmf import _klnmf
from klnmf._choices import Init, Solver
from klnmf._data import (
    count,
    factor,
    matrix,
    maybe_number,
    number,
    pair,
    parts,
    turned,
    word,
)
from klnmf._data import threads as thread_count
from klnmf._decomposer import TopicDecomposer
from klnmf._files import call_of
from klnmf._labels import Labelled, dictionary, documents, labelled, matched
from klnmf._memory import check_memory
from klnmf._progress import counting, watching
from klnmf._results import TopicInfo, Topics

TRACE = np.dtype([("iteration", "i8"), ("seconds", "f8"), ("objective", "f8")])
NAMES = "counts", "topics", "weights"


def topics(
    counts: Any,
    n_topics: int | None = None,
    *,
    init: Init | tuple[ArrayLike, ArrayLike] = "random",
    solver: Solver = "auto",
    topic_prior: float = 0.3,
    word_prior: float = 0.1,
    tol: float = 1e-5,
    weights_tol: float = 1e-6,
    max_iter: int = 500,
    time_limit: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    n_jobs: int | None = None,
    callback: Callable[[TopicInfo], Any] | None = None,
    progress: bool = False,
) -> Topics:
    """Fit topics to counts: documents are mixtures of topics, topics are distributions over words.

    Parameters
    ----------
    counts : array-like or scipy.sparse matrix of shape (documents, words)
        How often each word occurs, from `CountVectorizer` for example. Converted to f64.
    n_topics : int, optional
        Number of topics. May be left out if `init` is a pair.
    init : {'random', 'nndsvd'} or pair (weights, topics)
        The start. A pair is documents × topics and topics × words, of any positive scale.
    solver : {'auto', 'simplex', …}
        The method of the plain factorisation.
    topic_prior, word_prior : float
        Pseudo-counts of every topic in every document, and of every word in every topic. 0 and 0 give
        maximum likelihood.
    tol : float
        Tolerance in nats per word of the corpus: stop when ten iterations gain less than this.
    weights_tol : float
        Tolerance of the weights of a document: its gap in nats, divided by the number of its words and
        pseudo-counts.
    max_iter : int
        Maximum number of iterations.
    time_limit : float, optional
        Time limit in seconds.
    seed : int
        Seed of the random start.
    threads : int, optional
        Number of threads; one per core by default.
    n_jobs : int, optional
        scikit-learn's name of `threads`: -1 means one per core, -2 one fewer.
    callback : callable, optional
        Receives a `TopicInfo` every ten iterations. Returning True stops the work.
    progress : bool
        Show a bar (needs tqdm).

    Returns
    -------
    Topics
        Topics, weights, and for every document an optimality gap and a log-likelihood.

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> counts = np.array([[5, 4, 0, 0], [6, 5, 0, 0], [0, 0, 3, 4], [0, 0, 4, 5]])
    >>> model = klnmf.topics(counts, 2)
    >>> sorted(model.weights.argmax(axis=1).tolist())
    [0, 0, 1, 1]
    >>> bool(model.gaps.max() < 1e-4)
    True
    """
    call = call_of(topics, locals())
    counts = documents(counts)
    V = matrix(counts.matrix, np.float64, "counts").T
    workers = thread_count(threads, n_jobs)
    W, H = _start(counts, V, n_topics, init, count("seed", seed), workers)
    max_iter = count("max_iter", max_iter)

    def say(info: TopicInfo) -> str:
        return f"objective = {info.objective:.6g}"

    with turned(*NAMES), watching(TopicInfo, callback, progress, max_iter, say) as hear:
        found, weights, iterations, trace, status = _klnmf.topics(
            V,
            W,
            H,
            word("solver", solver),
            number("topic_prior", topic_prior),
            number("word_prior", word_prior),
            max_iter,
            number("tol", tol),
            number("weights_tol", weights_tol),
            maybe_number("time_limit", time_limit),
            workers,
            hear,
        )
    about = {"call": call, "seed": seed, "solver": solver}
    about |= {"topic_prior": topic_prior, "word_prior": word_prior}
    known = Labelled(found, counts.columns)
    return _packed(counts, V, known, weights, iterations, np.array(trace, TRACE), status, about)


def _start(counts: Any, V: Any, n_topics: Any, init: Any, seed: int, threads: int) -> tuple[NDArray, NDArray]:
    """The factors of V at the start."""
    if isinstance(init, str):
        if n_topics is None:
            raise TypeError("n_topics is missing: give the number of topics")
        n_topics = parts("n_topics", n_topics, V.shape)
        check_memory(V, n_topics, threads)
        with turned(*NAMES):
            return _klnmf.init(V, n_topics, init, seed, threads)
    weights, words = pair(init, "weights, topics")
    rows = matched(counts.rows, labelled(weights), 0, "counts", "weights")
    H = factor("weights", rows.matrix, np.float64).T
    W = _words(counts, V, words).matrix
    wanted = W.shape[1] if n_topics is None else n_topics
    if H.shape != (wanted, V.shape[1]) or W.shape[1] != wanted:
        raise ValueError(
            f"init: weights are {H.shape[1]} × {len(H)} and topics {W.shape[1]} × {len(W)}, "
            f"{V.shape[1]} × {wanted} and {wanted} × {len(W)} are needed"
        )
    return W, H


def _words(counts: Labelled, V: Any, topics: Any) -> Labelled:
    """Topics as words × topics, in the order of the words of the counts."""
    if hasattr(topics, "topics"):
        known = dictionary(topics)
    else:
        given = labelled(topics)
        known = Labelled(factor("topics", given.matrix, np.float64).T, given.columns, given.rows)
    W, words, names = matched(counts.columns, known, 0, "counts", "topics")
    W = factor("topics", W, np.float64)
    if len(W) != V.shape[0]:
        raise ValueError(
            f"topics have {len(W)} words, counts {V.shape[0]}: give both the same vocabulary, in columns"
        )
    return Labelled(W, words if counts.columns is None else counts.columns, names)


def topic_weights(
    counts: Any,
    topics: ArrayLike,
    *,
    topic_prior: float = 0.3,
    weights_tol: float = 1e-6,
    time_limit: float | None = None,
    threads: int | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Topics:
    """Find the weights of documents for given topics, each with an optimality gap.

    Parameters
    ----------
    counts : array-like or scipy.sparse matrix of shape (documents, words)
        How often each word occurs.
    topics : array-like or data frame of shape (topics, words), or a topic model
        Rows that are not zero are scaled to sum 1. Words are matched by label if both sides have labels,
        else by position.
    topic_prior : float
        Pseudo-count of every topic in every document.
    weights_tol : float
        Tolerance of the weights of a document: its gap in nats, divided by the number of its words and
        pseudo-counts.
    time_limit : float, optional
        Time limit in seconds.
    threads : int, optional
        Number of threads; one per core by default.
    n_jobs : int, optional
        scikit-learn's name of `threads`: -1 means one per core, -2 one fewer.
    progress : bool
        Show a bar (needs tqdm).

    Returns
    -------
    Topics

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> found = klnmf.topic_weights([[9, 1]], [[1.0, 0.0], [0.0, 1.0]], topic_prior=0)
    >>> found.weights.round(3).tolist()
    [[0.9, 0.1]]
    """
    call = call_of(topic_weights, locals())
    counts = documents(counts)
    V = matrix(counts.matrix, np.float64, "counts").T
    W = _words(counts, V, topics)
    prior, tol = number("topic_prior", topic_prior), number("weights_tol", weights_tol)
    limit, workers = maybe_number("time_limit", time_limit), thread_count(threads, n_jobs)
    with turned(*NAMES), counting(progress, V.shape[1], "document") as hear:
        found = _klnmf.topic_weights(V, W.matrix, prior, tol, limit, workers, hear)
    return _of_documents(counts, V, W, found, {"call": call, "topic_prior": prior})


def plain_weights(
    counts: Any, topics: NDArray, prepared: TopicDecomposer, weights_tol: float, progress: bool
) -> Topics:
    """`topic_weights` without a prior, for prepared topics."""
    counts = documents(counts)
    V = matrix(counts.matrix, np.float64, "counts").T
    W = _words(counts, V, topics)
    tol = number("weights_tol", weights_tol)
    with turned(*NAMES), counting(progress, V.shape[1], "document") as hear:
        found = prepared.topic_weights(V, tol, None, hear)
    return _of_documents(counts, V, W, found, {"call": "klnmf.TopicModel.transform(X)", "topic_prior": 0.0})


def _of_documents(counts: Labelled, V: Any, W: Labelled, found: Any, about: dict[str, Any]) -> Topics:
    """The weights with their scaled topics."""
    sums = W.matrix.sum(axis=0)
    scaled = np.divide(W.matrix, sums, out=np.zeros_like(W.matrix), where=sums > 0)
    known = Labelled(scaled, W.rows, W.columns)
    return _packed(counts, V, known, found, 0, np.array([], TRACE), found[-2], about)


def _packed(
    counts: Labelled, V: Any, W: Labelled, found: Any, iterations: int, trace: Any, status: str, about: dict
) -> Topics:
    weights, gaps, log_likelihood, unconverged, _, data = found
    return Topics(
        topics=W.matrix.T,
        weights=weights.T,
        gaps=gaps,
        log_likelihood=log_likelihood,
        words=float(V.sum()),
        unconverged=unconverged,
        iterations=iterations,
        trace=trace,
        status=status,
        features=W.rows,
        samples=counts.rows,
        parts=W.columns,
        metadata={**about, "data_hash": data},
    )
