"""Dictionaries that are prepared once and used for many decompositions."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from klnmf import _klnmf
from klnmf._data import count, dense, factor, is_frame, matched, matrix, maybe_number, number, precision
from klnmf._data import threads as thread_count
from klnmf._progress import counting
from klnmf._results import Decomposition


class Prepared:
    """A dictionary W, and the native objects made from it.

    A native object owns threads. They do not survive a fork, so a child process makes its own.
    """

    def __init__(self, W: Any, threads: int) -> None:
        W = dense(W)
        # A private copy, so that later changes of the given array have no effect.
        self._W = np.array(factor("W", W, precision("W", W.dtype)), order="K", copy=True)
        self._W.flags.writeable = False
        self._threads = threads
        self._native: dict[np.dtype, Any] = {}

    def _make(self, W: NDArray, threads: int) -> Any:
        raise NotImplementedError

    def _in(self, dtype: np.dtype) -> Any:
        """The native object for data of this precision."""
        found = self._native.get(dtype)
        if found is None or found.pid != os.getpid():
            found = self._native[dtype] = self._make(self._W.astype(dtype, copy=False), self._threads)
        return found

    def _is_of(self, W: Any, threads: int) -> bool:
        """Whether it was made from this dictionary and number of threads."""
        W = np.asarray(W)
        alike = W.shape == self._W.shape and precision("W", W.dtype) == self._W.dtype
        return alike and threads == self._threads and np.array_equal(W, self._W)


class Decomposer(Prepared):
    """A dictionary W that is checked and packed once, for any number of decompositions.

    `Decomposer(W).decompose(V)` gives the same numbers as `klnmf.decompose(V, W)`. It is faster when
    data arrive in small pieces, because the checks, the packing and the start of the threads are paid
    once. The threads wait between calls and end with the object. It can be pickled, copied, shared by
    threads, and used after a fork.

    Parameters
    ----------
    W : array-like of shape (features, parts)
        The dictionary. It is copied, so later changes of the array have no effect.
    threads : int, optional
        Number of threads; one per core by default.
    n_jobs : int, optional
        scikit-learn's name of `threads`: -1 means one per core, -2 one fewer.

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> decomposer = klnmf.Decomposer(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]))
    >>> for scale in (1, 10):
    ...     found = decomposer.decompose(scale * np.array([[2.0], [5.0], [3.0]]))
    ...     print(found.H.round(1).ravel().tolist())
    [2.0, 3.0]
    [20.0, 30.0]
    """

    def __init__(self, W: ArrayLike, threads: int | None = None, *, n_jobs: int | None = None) -> None:
        # Data frames match their rows by label.
        given: Any = W
        self._frame = given.copy() if is_frame(given) else None
        super().__init__(given, thread_count(threads, n_jobs))
        self._in(self._W.dtype)

    @property
    def W(self) -> NDArray:
        """The dictionary, read-only."""
        return self._W

    @property
    def threads(self) -> int:
        """The number of threads, 0 for one per core."""
        return self._threads

    def decompose(
        self,
        V: Any,
        *,
        tol: float = 1e-6,
        max_iter: int = 5000,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> Decomposition:
        """Find the best weights H of V for the dictionary, with an optimality gap for every column.

        Parameters
        ----------
        V : array-like or scipy.sparse matrix of shape (features, samples)
            The data. f32 is promoted to f64 in a copy if W is f64. If W and V are data frames, their rows are
            matched by label; if the order differs, the dictionary is packed again for this call.
        tol : float
            Tolerance relative to the sum of a column: stop when its gap is at most `tol` times its sum.
        max_iter : int
            Maximum number of iterations for a column.
        time_limit : float, optional
            Time limit in seconds.
        progress : bool
            Show a bar (needs tqdm).

        Returns
        -------
        Decomposition
            H, and for every column its divergence, gap, iterations and whether it converged.
        """
        if self._frame is not None:
            W = matched(V, "W", self._frame, 0)
            if W is not self._frame:
                other = Decomposer(W, self._threads)
                return other.decompose(
                    V, tol=tol, max_iter=max_iter, time_limit=time_limit, progress=progress
                )
        V = matrix(V)
        dtype = np.result_type(V.dtype, self._W.dtype)
        limits = number("tol", tol), count("max_iter", max_iter), maybe_number("time_limit", time_limit)
        return solve(self._in(dtype), matrix(V, dtype), limits, progress)

    def _make(self, W: NDArray, threads: int) -> _klnmf.Decomposer:
        return _klnmf.Decomposer(W, threads)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._W if self._frame is None else self._frame, self._threads)

    def __repr__(self) -> str:
        features, parts = self._W.shape
        return f"<klnmf.Decomposer: {features} features × {parts} parts, {self._W.dtype}>"


def solve(
    native: _klnmf.Decomposer, V: Any, limits: tuple[float, int, float | None], progress: bool
) -> Decomposition:
    """The weights of V, which has the precision of the dictionary."""
    with counting(progress, V.shape[1], "column") as hear:
        return Decomposition(*native.decompose(V, *limits, hear))


class TopicDecomposer(Prepared):
    """Topics, words × topics, for the weights of documents without a prior."""

    def _make(self, W: NDArray, threads: int) -> _klnmf.TopicDecomposer:
        return _klnmf.TopicDecomposer(W, threads)

    def topic_weights(self, *arguments: Any) -> Any:
        """The result of the native function of the same name."""
        return self._in(np.dtype(np.float64)).topic_weights(*arguments)
