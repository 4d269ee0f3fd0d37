"""Dictionaries that are prepared once and used for many decompositions."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from klnmf import _klnmf
from klnmf._data import count, dense, factor, matrix, maybe_number, number, precision
from klnmf._data import threads as thread_count
from klnmf._files import call_of
from klnmf._labels import Labelled, dictionary, labelled, located, matched
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
    W : array-like or data frame of shape (features, parts), or a model
        The dictionary. It is copied, so later changes of the array have no effect. Labels are kept.
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
        given = dictionary(W)
        super().__init__(given.matrix, thread_count(threads, n_jobs))
        # A Labelled is unpacked by `labelled`, also after pickling.
        self._known = Labelled(self._W, given.rows, given.columns)
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
            The data. f32 is promoted to f64 in a copy if W is f64. If W and V have labels, their features are
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
        call = call_of(Decomposer.decompose, locals())
        V, features, samples = labelled(V)
        known = matched(features, self._known, 0, warns=True)
        if known is not self._known:
            other = Decomposer(known, self._threads)
            options: dict[str, Any] = {"max_iter": max_iter, "time_limit": time_limit, "progress": progress}
            return other.decompose(Labelled(V, features, samples), tol=tol, **options)
        V = matrix(V)
        dtype = np.result_type(V.dtype, self._W.dtype)
        limits = number("tol", tol), count("max_iter", max_iter), maybe_number("time_limit", time_limit)
        V = Labelled(matrix(V, dtype), features, samples)
        return solve(self._in(dtype), V, known, limits, progress, call)

    def _make(self, W: NDArray, threads: int) -> _klnmf.Decomposer:
        return _klnmf.Decomposer(W, threads)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._known, self._threads)

    def __repr__(self) -> str:
        features, parts = self._W.shape
        return f"<klnmf.Decomposer: {features} features × {parts} parts, {self._W.dtype}>"


def solve(
    native: _klnmf.Decomposer,
    V: Labelled,
    W: Labelled,
    limits: tuple[float, int, float | None],
    progress: bool,
    call: str,
) -> Decomposition:
    """The weights of V, which has the precision and the order of features of the dictionary."""
    with located(V.rows, V.columns), counting(progress, V.matrix.shape[1], "column") as hear:
        *found, data = native.decompose(V.matrix, *limits, hear)
    about = {"call": call, "tol": limits[0], "data_hash": data}
    return Decomposition(*found, W.matrix, W.rows, V.columns, W.columns, about)


class TopicDecomposer(Prepared):
    """Topics, words × topics, for the weights of documents without a prior."""

    def _make(self, W: NDArray, threads: int) -> _klnmf.TopicDecomposer:
        return _klnmf.TopicDecomposer(W, threads)

    def topic_weights(self, *arguments: Any) -> Any:
        """The result of the native function of the same name."""
        return self._in(np.dtype(np.float64)).topic_weights(*arguments)
