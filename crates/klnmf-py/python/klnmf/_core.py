"""Factorisations, decompositions and gaps of V, features × samples."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from klnmf import _klnmf
from klnmf._choices import Init, Solver, Update
from klnmf._data import (
    count,
    dense,
    factor,
    matrices,
    matrix,
    maybe_count,
    maybe_number,
    number,
    pair,
    parts,
    precision,
    word,
)
from klnmf._data import threads as thread_count
from klnmf._decomposer import solve
from klnmf._files import call_of, checkpoint_files
from klnmf._labels import Labelled, dictionary, labelled, located, matched, texts
from klnmf._memory import check_memory
from klnmf._progress import watching
from klnmf._results import Certificate, Decomposition, Info, Result, Start
from klnmf._warn import warn

TRACE = np.dtype([(name, "i8" if name == "iteration" else "f8") for name in Info._fields[:-2]])


def factorize(
    V: Any,
    rank: int | None = None,
    *,
    init: Init | tuple[ArrayLike, ArrayLike] = "random",
    solver: Solver = "auto",
    update: Update = "both",
    fixed: int = 0,
    tol: float = 3e-3,
    max_iter: int = 2000,
    time_limit: float | None = None,
    starts: int = 1,
    seed: int = 0,
    threads: int | None = None,
    n_jobs: int | None = None,
    inner: int | None = None,
    mixed: bool | None = None,
    rho: float | None = None,
    check_every: int | None = None,
    callback: Callable[[Info], Any] | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    every: float = 60.0,
) -> Result:
    """Factor V into parts W and weights H, both non-negative, so that D(V‖WH) is small.

    The part with the largest share of W·H comes first. Parts of a given start, and all parts if only one
    factor is updated, keep their order.

    The single-factor gaps `gap_w` and `gap_h` bound what changing W alone or H alone could still gain.
    The result depends on the start: try several with `starts`.

    Parameters
    ----------
    V : array-like, scipy.sparse matrix, data frame or AnnData of shape (features, samples)
        Non-negative. C- and Fortran-ordered arrays, CSR and CSC are read in place. f32 stays f32;
        integers become f64. An AnnData object is transposed. Labels stay on the result.
    rank : int, optional
        Number of parts. May be left out if `init` is a pair.
    init : {'random', 'nndsvd'}, pair (W, H) or Result
        The start. Rows of W and columns of H are matched with those of V by label if both have labels,
        else by position.
    solver : {'auto', 'fpa', 'simplex', 'mu', 'mue', 'newton', 'stream', 'admm', \
            'fpa-authors', 'fpa-printed', 'mu-authors', 'admm-authors'}
        The method. The '-authors' solvers repeat the programs of the paper, and 'fpa-printed' its text,
        for comparisons.
    update : {'both', 'W', 'H'}
        Which factors are updated.
    fixed : int
        Number of leading columns of W that stay fixed: known parts beside new ones. Not with 'admm',
        'fpa-printed' and the '-authors' solvers.
    tol : float
        Tolerance relative to the divergence: stop when `gap_w` and `gap_h` (or the gap of the updated factor)
        are at most `tol` times the divergence, or times 1e-5 of the sum of V (in f32 1e-2) if the fit is
        nearly exact. 0 never stops early.
    max_iter : int
        Maximum number of iterations. One iteration updates H and W.
    time_limit : float, optional
        Time limit in seconds.
    starts : int
        Number of starts, of which the best is kept; their seeds are `seed`, `seed` + 1 and so on. Most
        are stopped early: all take about twice the work of the first, and more than 2.5 times only if
        another turns out lower.
    seed : int
        Seed of the random start. The same seed gives the same bits on any number of threads.
    threads : int, optional
        Number of threads; one per core by default.
    n_jobs : int, optional
        scikit-learn's name of `threads`: -1 means one per core, -2 one fewer.
    inner : int, optional
        Steps on each factor per iteration. The default depends on the solver.
    mixed : bool, optional
        Run the early iterations in f32 if the data are f64. By default only with 'auto'.
    rho : float, optional
        Penalty of 'admm' and 'admm-authors'; the latter needs one.
    check_every : int, optional
        Iterations between two records of the trace, 10 by default. It does not change the result.
    callback : callable, optional
        Receives an `Info` for every record of the trace, in the calling thread. Returning True stops the
        work.
    progress : bool
        Show a bar (needs tqdm).
    checkpoint : str or path, optional
        File (.npz) for the state of the run, written from time to time, on Ctrl-C and at the end. It must not
        exist, unless it is that of `resume`. It is the file of the program's `--checkpoint`.
    resume : str or path, optional
        Continue from a checkpoint of this function or of the program, to the same bits as a run that was never
        stopped. V, `solver` and its settings must be the same; limits and `tol` may differ, and `init` and
        `seed` have no effect any more. Without `checkpoint`, this file is updated.
    every : float
        Seconds between two writes of the checkpoint.

    Returns
    -------
    Result
        W, H, divergence, gap_w, gap_h, trace, status. Reaching a limit is a status, not an error.

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> V = np.random.default_rng(1).poisson(2.0, (20, 30))
    >>> model = klnmf.factorize(V, 3)
    >>> bool(model.relative_gap <= 3e-3)
    True
    >>> bool(np.allclose(model.W.sum(axis=0), 1))
    True
    """
    call = call_of(factorize, locals())
    V, features, samples = labelled(V)
    names = None
    if not isinstance(init, str):
        W, H = _given(init, features, samples)
        init, names = (W.matrix, H.matrix), W.columns
    V = matrix(V)
    workers = thread_count(threads, n_jobs)
    files = checkpoint_files(checkpoint, resume, every)
    if resume is None:
        start = _start(V, rank, init, count("seed", seed), workers, word("solver", solver))
    else:
        start = None if rank is None else (parts("rank", rank, V.shape), "random", 0)
    starts = count("starts", starts)
    if starts > 1 and (resume is not None or not isinstance(init, str)):
        raise ValueError(f"starts = {starts}: a given start is one start; leave out init and resume, or starts")
    max_iter = count("max_iter", max_iter)

    def say(info: Info) -> str:
        return f"D = {info.divergence:.6g}, gap = {info.relative_gap:.1e}"

    make = partial(Info, update=update)
    with located(features, samples), watching(make, callback, progress, max_iter, say) as hear:
        W, H, facts, trace, status, ends, failure, data, stored = _klnmf.factorize(
            V,
            start,
            texts(names),
            files,
            word("solver", solver),
            mixed,
            word("update", update),
            count("fixed", fixed),
            maybe_count("inner", inner),
            max_iter,
            number("tol", tol),
            maybe_number("time_limit", time_limit),
            maybe_count("check_every", check_every),
            workers,
            maybe_number("rho", rho),
            starts,
            hear,
        )
    names = names if resume is None else stored and np.array(stored)
    if failure:
        warn(f"cannot write the checkpoint, the run continues: {failure}", RuntimeWarning)
    about = {"call": call, "seed": seed, "solver": solver, "tol": tol, "data_hash": data}
    trace, ends = np.array(trace, TRACE), tuple(Start(*end) for end in ends)
    return Result(W, H, make(*facts), trace, status, features, samples, names, about, ends)


def _given(init: Any, features: Any, samples: Any) -> tuple[Labelled, Labelled]:
    """The factors of a start, with the features and samples of the data."""
    if hasattr(init, "to_frames"):
        W, H = dictionary(init), Labelled(init.H, init.parts, init.samples)
    else:
        W, H = map(labelled, pair(init))
    return matched(features, W, 0), matched(samples, H, 1, name="H")


def _start(
    V: Any, rank: Any, how: Any, seed: int, threads: int, solver: str
) -> tuple[int, str, int] | tuple[NDArray, NDArray]:
    """Rank, name and seed of a start, or the given factors in the precision of V."""
    if isinstance(how, str):
        if rank is None:
            raise TypeError("rank is missing: give the number of parts")
        rank = parts("rank", rank, V.shape)
        check_memory(V, rank, threads, solver)
        return rank, how, seed
    W, H = factor("W", how[0], V.dtype), factor("H", how[1], V.dtype)
    check_memory(V, W.shape[1], threads, solver)
    if rank is not None and W.shape[1] != rank:
        raise ValueError(f"rank = {rank}: W has {W.shape[1]} columns; grow it first, or leave rank out")
    return W, H


def init(
    V: Any,
    rank: int,
    *,
    how: Init = "random",
    seed: int = 0,
    threads: int | None = None,
    n_jobs: int | None = None,
) -> tuple[NDArray, NDArray]:
    """Compute the start (W, H) that `factorize` would use.

    Parameters
    ----------
    V : array-like or scipy.sparse matrix of shape (features, samples)
        The data.
    rank : int
        Number of parts.
    how : {'random', 'nndsvd'}
        |N(0, 1)| + 0.1, or the leading singular vectors, scaled so that ΣWH = ΣV.
    seed : int
        Seed of the random numbers.
    threads : int, optional
        Number of threads; one per core by default.
    n_jobs : int, optional
        scikit-learn's name of `threads`: -1 means one per core, -2 one fewer.

    Returns
    -------
    W : ndarray of shape (features, parts)
    H : ndarray of shape (parts, samples)

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> W, H = klnmf.init(np.ones((4, 5)), 2)
    >>> bool(np.isclose((W @ H).sum(), 20))
    True
    """
    V = matrix(labelled(V).matrix)
    rank = parts("rank", rank, V.shape)
    return _klnmf.init(V, rank, word("how", how), count("seed", seed), thread_count(threads, n_jobs))


def decompose(
    V: Any,
    W: ArrayLike,
    *,
    tol: float = 1e-6,
    max_iter: int = 5000,
    time_limit: float | None = None,
    threads: int | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Decomposition:
    """Find the best weights H of V for fixed parts W.

    The problem is convex, and every column has an optimality gap: no other weights have a divergence that
    is lower by more than that. The computation runs in f64 whatever the precision of V. Use `Decomposer`
    for many calls with the same W.

    Parameters
    ----------
    V : array-like, scipy.sparse matrix, data frame or AnnData of shape (features, samples)
        The data. f32 is promoted to f64 in a copy if W is f64.
    W : array-like or data frame of shape (features, parts), or a model
        The parts. If V and W have labels, features are matched by label in any order, and different labels
        are an error. Without labels on both sides they are matched by position. A model has the labels of
        its data; its array `model.W` has none.
    tol : float
        Tolerance relative to the sum of a column: stop when its gap is at most `tol` times its sum.
    max_iter : int
        Maximum number of iterations for a column.
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
    Decomposition
        H, and for every column its divergence, gap, iterations and whether it converged.

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> W = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> found = klnmf.decompose([[2.0], [5.0], [3.0]], W)
    >>> found.H.round(2).ravel().tolist()
    [2.0, 3.0]
    >>> bool(found.gaps[0] <= 1e-6 * 10)
    True
    """
    call = call_of(decompose, locals())
    V, features, samples = labelled(V)
    W = matched(features, dictionary(W), 0, warns=True)
    V, given = matrices(V, W=W.matrix)
    limits = number("tol", tol), count("max_iter", max_iter), maybe_number("time_limit", time_limit)
    native = _klnmf.Decomposer(given, thread_count(threads, n_jobs))
    known = Labelled(given, W.rows if features is None else features, W.columns)
    return solve(native, Labelled(V, features, samples), known, limits, progress, call)


def certificate(
    V: Any, W: ArrayLike, H: ArrayLike, *, threads: int | None = None, n_jobs: int | None = None
) -> Certificate:
    """Compute the divergence and the single-factor gaps of any factors, scikit-learn's for example.

    Parameters
    ----------
    V : array-like or scipy.sparse matrix of shape (features, samples)
        The data. f32 is promoted to f64 in a copy if W or H is f64.
    W : array-like of shape (features, parts)
        Non-negative. Rows of data frames are matched with those of V by label, those of arrays by position.
    H : array-like of shape (parts, samples)
        Non-negative. Its columns are matched with those of V in the same way.
    threads : int, optional
        Number of threads; one per core by default.
    n_jobs : int, optional
        scikit-learn's name of `threads`: -1 means one per core, -2 one fewer.

    Returns
    -------
    Certificate
        The divergence, and bounds on what changing W alone or H alone could still gain.

    Examples
    --------
    >>> import klnmf
    >>> klnmf.certificate([[3.0, 4.0], [6.0, 8.0]], [[1.0], [2.0]], [[3.0, 4.0]]).divergence
    0.0
    """
    V, features, samples = labelled(V)
    W, H = _given((W, H), features, samples)
    arrays = matrices(V, W=W.matrix, H=H.matrix)
    return Certificate(*_klnmf.certificate(*arrays, thread_count(threads, n_jobs)))


def grow(W: ArrayLike, H: ArrayLike, rank: int, *, seed: int = 0) -> tuple[NDArray, NDArray]:
    """Add parts to a model without changing W·H: the result is [W, 0] and [H; random].

    The divergence stays the same; `factorize(V, init=…)` continues from there.

    Parameters
    ----------
    W : array-like of shape (features, parts)
        Parts of the model.
    H : array-like of shape (parts, samples)
        Weights of the model.
    rank : int
        Number of parts of the larger model.
    seed : int
        Seed of the random numbers.

    Returns
    -------
    W : ndarray of shape (features, rank)
    H : ndarray of shape (rank, samples)

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> V = np.random.default_rng(1).poisson(2.0, (20, 30))
    >>> small = klnmf.factorize(V, 2)
    >>> large = klnmf.factorize(V, init=klnmf.grow(small.W, small.H, 4))
    >>> large.W.shape, large.divergence < small.divergence
    ((20, 4), True)
    """
    left, right = dense(labelled(W).matrix), dense(labelled(H).matrix)
    dtype = np.result_type(precision("W", left.dtype), precision("H", right.dtype))
    left, right = factor("W", left, dtype), factor("H", right, dtype)
    rank = parts("rank", rank, (len(left), right.shape[1]))
    return _klnmf.grow(left, right, rank, count("seed", seed))
