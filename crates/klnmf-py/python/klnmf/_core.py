"""Factorisations, decompositions and certificates of V, features × samples."""

from __future__ import annotations

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
    is_sparse,
    matched,
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
from klnmf._progress import watching
from klnmf._results import Certificate, Decomposition, Info, Memory, Result

TRACE = np.dtype([(name, "i8" if name == "iteration" else "f8") for name in Info._fields[:-2]])


def factorize(
    V: Any,
    rank: int | None = None,
    *,
    init: Init | tuple[ArrayLike, ArrayLike] = "random",
    solver: Solver = "auto",
    update: Update = "both",
    fixed: int = 0,
    tol: float = 1e-4,
    max_iter: int = 1000,
    time_limit: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    inner: int | None = None,
    mixed: bool | None = None,
    rho: float | None = None,
    check_every: int | None = None,
    callback: Callable[[Info], Any] | None = None,
    progress: bool = False,
) -> Result:
    """Factor V into W and H, both non-negative, so that D(V‖WH) is small.

    Parameters
    ----------
    V : array-like or scipy.sparse matrix of shape (features, samples)
        Non-negative. C- and Fortran-ordered arrays, CSR and CSC are read where they lie; f32 stays
        f32, whole numbers become f64.
    rank : int, optional
        Parts. May be left out where `init` is a pair.
    init : {'random', 'nndsvd'} or pair (W, H)
        How to start. Rows of W and columns of H are matched with those of V by their labels if both are
        data frames, else by position.
    solver : {'auto', 'fpa', 'simplex', 'mu', 'mue', 'newton', 'admm', \
            'fpa-authors', 'fpa-printed', 'mu-authors', 'admm-authors'}
        The method. Those of the authors repeat the programs of the paper, and 'fpa-printed' its text,
        for comparisons.
    update : {'both', 'W', 'H'}
        Which factors move.
    fixed : int
        The first so many columns of W stay as they are: known parts beside new ones. Not with
        `admm` and the authors' programs.
    tol : float
        Stop when `gap_w` and `gap_h`, or the one of the factor that moves, are at most `tol` times the sum
        of V. 0 never stops early.
    max_iter : int
        The most accesses to the data.
    time_limit : float, optional
        Stop after this many seconds.
    seed : int
        Of the random numbers in the start. The same seed gives the same bits on any number of
        threads.
    threads : int, optional
        One per core by default.
    inner : int, optional
        Steps on one factor before the other has its turn.
    mixed : bool, optional
        Begin in f32 where the data are f64. By default so with `auto`.
    rho : float, optional
        Penalty of `admm` and `admm-authors`, which needs one.
    check_every : int, optional
        Accesses between two records of the trace, 10 by default. Does not change the result.
    callback : callable, optional
        Is told an `Info` for every record of the trace, in the thread that called; stops the work by
        returning True.
    progress : bool
        Show a bar (needs tqdm).

    Returns
    -------
    Result
        W, H, divergence, gap_w, gap_h, trace, status. Reaching a limit is a status, not an error.

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> V = np.random.default_rng(1).poisson(2.0, (20, 30))
    >>> model = klnmf.factorize(V, 3)
    >>> bool(model.relative_gap <= 1e-4)
    True
    >>> bool(np.allclose(model.W.sum(axis=0), 1))
    True
    """
    if not isinstance(init, str):
        W, H = pair(init)
        init = matched(V, "W", W, 0), matched(V, "H", H, 1)
    V = matrix(V)
    start = _start(V, rank, init, count("seed", seed), thread_count(threads))
    max_iter = count("max_iter", max_iter)

    def say(info: Info) -> str:
        return f"D = {info.divergence:.6g}, gap = {info.relative_gap:.1e}"

    make = partial(Info, update=update)
    with watching(make, callback, progress, max_iter, say) as hear:
        W, H, facts, trace, status = _klnmf.factorize(
            V,
            start,
            word("solver", solver),
            mixed,
            word("update", update),
            count("fixed", fixed),
            maybe_count("inner", inner),
            max_iter,
            number("tol", tol),
            maybe_number("time_limit", time_limit),
            maybe_count("check_every", check_every),
            thread_count(threads),
            maybe_number("rho", rho),
            hear,
        )
    return Result(W, H, make(*facts), np.array(trace, TRACE), status)


def _start(
    V: Any, rank: Any, how: Any, seed: int, threads: int
) -> tuple[int, str, int] | tuple[NDArray, NDArray]:
    """Rank, name and seed of a start, or the factors to start from in the precision of V."""
    if isinstance(how, str):
        if rank is None:
            raise TypeError("rank is missing: how many parts?")
        rank = parts("rank", rank, V.shape)
        check_memory(V, rank, threads)
        return rank, how, seed
    W, H = factor("W", how[0], V.dtype), factor("H", how[1], V.dtype)
    check_memory(V, W.shape[1], threads)
    if rank is not None and W.shape[1] != rank:
        raise ValueError(f"rank = {rank}: W has {W.shape[1]} columns; grow it first, or leave rank out")
    return W, H


def init(
    V: Any, rank: int, *, how: Init = "random", seed: int = 0, threads: int | None = None
) -> tuple[NDArray, NDArray]:
    """The start (W, H) that `factorize` would use.

    Parameters
    ----------
    V : array-like or scipy.sparse matrix of shape (features, samples)
        The data.
    rank : int
        Parts.
    how : {'random', 'nndsvd'}
        |N(0, 1)| + 0.1, or the leading singular vectors; scaled so that ΣWH = ΣV.
    seed : int
        Of the random numbers.
    threads : int, optional
        One per core by default.

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
    V = matrix(V)
    rank = parts("rank", rank, V.shape)
    return _klnmf.init(V, rank, word("how", how), count("seed", seed), thread_count(threads))


def decompose(
    V: Any,
    W: ArrayLike,
    *,
    tol: float = 1e-6,
    max_iter: int = 5000,
    time_limit: float | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Decomposition:
    """Find the best weights H for a fixed dictionary W.

    The problem is convex, and every column comes with a duality gap: no other weights can be better
    by more than that. The work is done in double precision whatever the precision of V. `Decomposer`
    is for many calls with the same W.

    Parameters
    ----------
    V : array-like or scipy.sparse matrix of shape (features, samples)
        The data. f32 becomes f64 in a copy if W is f64.
    W : array-like of shape (features, parts)
        The dictionary. The rows of two data frames are matched by their labels, those of arrays by
        position.
    tol : float
        A column is done when its gap is at most `tol` times its sum.
    max_iter : int
        The most steps for a column.
    time_limit : float, optional
        Stop after this many seconds.
    threads : int, optional
        One per core by default.
    progress : bool
        Show a bar (needs tqdm).

    Returns
    -------
    Decomposition
        H, and for every column its divergence, gap, steps and whether it converged.

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
    V, dictionary = matrices(V, W=matched(V, "W", W, 0))
    limits = number("tol", tol), count("max_iter", max_iter), maybe_number("time_limit", time_limit)
    return solve(_klnmf.Decomposer(dictionary, thread_count(threads)), V, limits, progress)


def certificate(V: Any, W: ArrayLike, H: ArrayLike, *, threads: int | None = None) -> Certificate:
    """Certify factors from anywhere, scikit-learn's for example.

    Parameters
    ----------
    V : array-like or scipy.sparse matrix of shape (features, samples)
        The data. f32 becomes f64 in a copy if W or H is f64.
    W : array-like of shape (features, parts)
        Non-negative. Rows of data frames are matched with those of V by their labels, of arrays by
        position.
    H : array-like of shape (parts, samples)
        Non-negative. Its columns are matched with those of V likewise.
    threads : int, optional
        One per core by default.

    Returns
    -------
    Certificate
        The divergence, and how much it can fall by changing W alone or H alone.

    Examples
    --------
    >>> import klnmf
    >>> klnmf.certificate([[3.0, 4.0], [6.0, 8.0]], [[1.0], [2.0]], [[3.0, 4.0]]).divergence
    0.0
    """
    arrays = matrices(V, W=matched(V, "W", W, 0), H=matched(V, "H", H, 1))
    return Certificate(*_klnmf.certificate(*arrays, thread_count(threads)))


def grow(W: ArrayLike, H: ArrayLike, rank: int, *, seed: int = 0) -> tuple[NDArray, NDArray]:
    """Add parts to a model without losing what it has learned: [W, 0] and [H; random].

    The divergence stays the same; `factorize(V, init=…)` goes on from there.

    Parameters
    ----------
    W : array-like of shape (features, parts)
        Of the model.
    H : array-like of shape (parts, samples)
        Of the model.
    rank : int
        Parts of the larger model.
    seed : int
        Of the random numbers.

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
    left, right = dense(W), dense(H)
    dtype = np.result_type(precision("W", left.dtype), precision("H", right.dtype))
    left, right = factor("W", left, dtype), factor("H", right, dtype)
    rank = parts("rank", rank, (len(left), right.shape[1]))
    return _klnmf.grow(left, right, rank, count("seed", seed))


def memory(V: Any, rank: int, *, threads: int | None = None) -> Memory:
    """The most memory that `factorize` takes, known before it starts.

    Parameters
    ----------
    V : array-like or scipy.sparse matrix of shape (features, samples)
        The data.
    rank : int
        Parts.
    threads : int, optional
        One per core by default.

    Returns
    -------
    Memory
        Bytes.

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> klnmf.memory(np.zeros((100, 50)), 10, threads=2)[:2]
    (40000, 12000)
    """
    if not is_sparse(V):
        # Only the size counts: numbers that would be copied to another type are not even written.
        V = np.asarray(V)
        V = V if V.ndim != 2 or V.dtype.kind == "f" else np.empty(V.shape, precision("V", V.dtype))
    V = matrix(V)
    return Memory(*_klnmf.memory(V, parts("rank", rank, V.shape), thread_count(threads)))


def check_memory(V: Any, rank: int, threads: int) -> None:
    """Refuses what cannot fit in the memory that is free, where the system tells, as the program does."""
    free = _free_memory()
    if free is None:
        return
    # V itself is there already.
    v, _, _, total = _klnmf.memory(V, rank, threads)
    if total - v > free:
        raise MemoryError(
            f"rank {rank} takes up to {total - v:,} bytes more and {free:,} bytes of memory are free: choose "
            "a smaller rank, f32, or a larger machine"
        )


def _free_memory() -> int | None:
    """Bytes that can be had without swapping, on Linux."""
    try:
        with open("/proc/meminfo") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return None
