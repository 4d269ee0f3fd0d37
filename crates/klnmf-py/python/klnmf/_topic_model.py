"""Topic models as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klnmf._choices import Solver
from klnmf._data import number, parts
from klnmf._decomposer import TopicDecomposer
from klnmf._estimator import Factors
from klnmf._results import TopicInfo, Topics
from klnmf._sklearn_common import check_is_fitted, explained, warn_of_limit, warn_of_rows
from klnmf._topics import plain_weights, topic_weights, topics
from klnmf._words import top_words


class TopicModel(Factors):
    """Topics of documents: PLSA, or with pseudo-counts the posterior mode of LDA.

    For given topics, the weights of every document have an optimality gap. The topics are a local optimum.

    Parameters
    ----------
    n_components : int
        Number of topics.
    topic_prior, word_prior : float
        Pseudo-counts of every topic in every document, and of every word in every topic.
    solver : str
        The method of the plain factorisation; see `klnmf.topics`.
    tol : float
        Tolerance in nats per word of the corpus: stop when ten iterations gain less than this.
    weights_tol : float
        Tolerance of the weights of a document: its gap in nats, divided by the number of its words and
        pseudo-counts.
    max_iter : int
        Maximum number of iterations.
    time_limit : float, optional
        Time limit of `fit` in seconds.
    warm_start : bool
        Start `fit` from the topics of the last one.
    forgetting : float
        Least weight of a new block in `partial_fit`, from 0 to 1; see `klnmf.Online`.
    random_state : int, RandomState or None
        Seed. An int has the same effect as in `klnmf.topics` and the program.
    threads : int, optional
        Number of threads; one per core by default. The result does not depend on it.
    n_jobs : int, optional
        scikit-learn's name of `threads`: -1 means one per core, -2 one fewer.
    callback : callable, optional
        Receives a `klnmf.TopicInfo` every ten iterations of `fit`. Returning True stops it.
    progress : bool
        Show a bar (needs tqdm).

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Topics; rows sum to 1. The topic that explains most words comes first.
    perplexity_ : float
        Perplexity of the documents that it was fitted to.
    gap_ : float
        The largest optimality gap of a document, in nats.
    n_iter_ : int
        Number of iterations.
    trace_ : ndarray
        One record for every ten iterations, with the fields of `klnmf.TopicInfo`.
    status_ : str
        Why `fit` ended.
    n_components_, n_features_in_ : int
    n_steps_ : int
        Number of blocks that `partial_fit` has learned from.
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> import numpy as np
    >>> from klnmf import TopicModel
    >>> counts = np.array([[5, 4, 0, 0], [6, 5, 0, 0], [0, 0, 3, 4], [0, 0, 4, 5]])
    >>> model = TopicModel(2, random_state=0).fit(counts)
    >>> model.top_words(2, names=["cat", "dog", "sun", "moon"])
    [['cat', 'dog'], ['moon', 'sun']]
    >>> model.transform([[3, 3, 0, 0]]).round().tolist()
    [[1.0, 0.0]]
    """

    perplexity_: float

    def __init__(
        self,
        n_components: int = 10,
        *,
        topic_prior: float = 0.3,
        word_prior: float = 0.1,
        solver: Solver = "auto",
        tol: float = 1e-5,
        weights_tol: float = 1e-6,
        max_iter: int = 500,
        time_limit: float | None = None,
        warm_start: bool = False,
        forgetting: float = 0.0,
        random_state: Any = None,
        threads: int | None = None,
        n_jobs: int | None = None,
        callback: Callable[[TopicInfo], Any] | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components = n_components
        self.topic_prior = topic_prior
        self.word_prior = word_prior
        self.solver = solver
        self.tol = tol
        self.weights_tol = weights_tol
        self.max_iter = max_iter
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.forgetting = forgetting
        self.random_state = random_state
        self.threads = threads
        self.n_jobs = n_jobs
        self.callback = callback
        self.progress = progress

    def fit_transform(self, X: Any, y: Any = None) -> NDArray:
        """Learn the topics of X and return the weights of its documents.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Counts, documents × words.
        y : ignored
            Present for compatibility with scikit-learn.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Rows sum to 1.
        """
        before = self._before()
        X = self._validate(X, reset=True)
        found = topics(
            X,
            parts("n_components", self.n_components, X.shape),
            init=self._start(X, before),
            solver=self.solver,
            topic_prior=self.topic_prior,
            word_prior=self.word_prior,
            tol=self.tol,
            weights_tol=self.weights_tol,
            max_iter=self.max_iter,
            time_limit=self.time_limit,
            seed=self._seed(),
            threads=self.threads,
            n_jobs=self.n_jobs,
            callback=self.callback,
            progress=self.progress,
        )
        sizes = np.asarray(X.sum(axis=1), dtype=np.float64).ravel()
        self._forget(X.shape[0], sizes @ found.weights)
        self._words = float(sizes.sum())
        self.components_ = np.ascontiguousarray(found.topics, dtype=X.dtype)
        self.n_components_ = len(found.topics)
        self.perplexity_ = found.perplexity
        self.gap_ = float(found.gaps.max())
        self.n_iter_ = max(found.iterations, 1)
        self.trace_ = found.trace
        self.status_ = found.status
        if self.tol > 0 and not found.converged:
            warn_of_limit(found, self.max_iter)
        warn_of_rows(found.unconverged, X.shape[0], self.weights_tol)
        return found.weights.astype(X.dtype)

    def partial_fit(self, X: Any, y: Any = None) -> TopicModel:
        """Learn from a block of documents, which is not kept.

        Blocks may come from one pass over the corpus or from several. After `fit`, its topics are improved.
        While topics are learned this way, the weights of documents have no pseudo-counts. Each topic gets
        `word_prior` for every word, as in `fit`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Counts, documents × words.
        y : ignored
            Present for compatibility with scikit-learn.

        Returns
        -------
        self
        """
        X = self._validate(X, reset=not hasattr(self, "components_"))
        rank = getattr(self, "n_components_", None) or parts("n_components", self.n_components, X.shape)
        self._learn(X, rank)
        self.__dict__.pop("perplexity_", None)
        self._words = getattr(self, "_words", 0.0) + float(X.sum())
        _, counts, _ = self._online._native.state()
        topics = counts * self._words + number("word_prior", self.word_prior)
        topics /= np.maximum(topics.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        self.components_ = np.ascontiguousarray(topics, dtype=X.dtype)
        return self

    def transform(self, X: Any) -> NDArray:
        """Find the best weights of documents for the topics, each to its optimality gap.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Counts, documents × words.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Rows sum to 1.
        """
        X = self._checked(X)
        return self._weights(X).weights.astype(X.dtype)

    def weights(self, X: Any) -> Topics:
        """As `transform`, with the gap and log-likelihood of every document.

        A document with a word that is in no topic has the log-likelihood −∞. Its weights and its gap are
        those of its other words.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Counts, documents × words.

        Returns
        -------
        Topics
        """
        return replace(self._weights(self._checked(X)), **self._labels(X))

    def perplexity(self, X: Any) -> float:
        """Compute exp(−log-likelihood per word) of documents, with their best weights.

        It is infinite if a word is in no topic; a `word_prior` above 0 prevents this.
        """
        return self.weights(X).perplexity

    def score(self, X: Any, y: Any = None) -> float:
        """Compute the log-likelihood of documents with their best weights. Higher is better.

        It is −∞ if a word is in no topic; a `word_prior` above 0 prevents this.
        """
        return float(self.weights(X).log_likelihood.sum())

    def top_words(
        self, n: int = 10, names: Sequence[str] | Mapping[Any, Any] | None = None
    ) -> list[list[str]]:
        """List the `n` most probable words of every topic.

        Parameters
        ----------
        n : int
            Number of words per topic.
        names : sequence of str or mapping, optional
            The vocabulary: a list, scikit-learn's `vocabulary_` or a gensim `Dictionary`. By default the
            names of the columns that the model was fitted to, or their numbers.

        Returns
        -------
        list of list of str
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None) if names is None else names
        return top_words(self.components_, n, names)

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._validate(X, reset=False)

    def _weights(self, X: Any) -> Topics:
        known, components, beyond = explained(X, self.components_)
        if number("topic_prior", self.topic_prior) == 0 and components is self.components_:
            prepared = self._prepared(TopicDecomposer)
            found = plain_weights(known, components, prepared, self.weights_tol, self.progress)
        else:
            found = topic_weights(
                known,
                components,
                topic_prior=self.topic_prior,
                weights_tol=self.weights_tol,
                threads=self.threads,
                n_jobs=self.n_jobs,
                progress=self.progress,
            )
        warn_of_rows(found.unconverged, X.shape[0], self.weights_tol)
        return replace(
            found,
            topics=self.components_,
            log_likelihood=np.where(beyond, -np.inf, found.log_likelihood),
            words=float(X.sum()),
        )

    def _start(self, X: Any, before: NDArray | None) -> Any:
        if before is None or before.shape != (self.n_components, X.shape[1]):
            return "random"
        # A word that no topic had gets a little of each; otherwise X could not be explained.
        words = before.astype(np.float64)
        words[:, words.sum(axis=0) == 0] = 1 / X.shape[1]
        found = topic_weights(
            X,
            words,
            topic_prior=self.topic_prior,
            weights_tol=1e-3,
            threads=self.threads,
            n_jobs=self.n_jobs,
        )
        sizes = np.asarray(X.sum(axis=1), dtype=np.float64).reshape(-1, 1)
        return found.weights * sizes, words
