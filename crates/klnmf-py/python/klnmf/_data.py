"""Converts arguments for the native module, with copies only where needed."""

from __future__ import annotations

import math
import operator
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klnmf._warn import warn


def is_sparse(V: Any) -> bool:
    """Whether V is a scipy matrix. scipy is not imported: if V is one, it has been imported already."""
    scipy = sys.modules.get("scipy.sparse")
    return scipy is not None and scipy.issparse(V)


def precision(name: str, dtype: np.dtype) -> np.dtype:
    """f32 for floats of at most 32 bits, f64 for everything else that is real."""
    if dtype.kind == "c":
        raise TypeError(f"{name} holds complex numbers: use their magnitudes, or the squares of these")
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


def matrix(V: Any, dtype: Any = None, name: str = "V") -> Any:
    """V as a contiguous 2-D array or a CSR or CSC matrix of f32 or f64."""
    sparse = is_sparse(V)
    if isinstance(V, (str, os.PathLike)):
        raise TypeError(f"{name} is a path: read the file first, with numpy.load for example")
    V = V if sparse else np.asarray(V)
    if V.ndim == 1 and V.dtype.kind == "U":
        raise TypeError(f"{name} holds texts: count their words first, with CountVectorizer for example")
    if V.ndim != 2:
        raise ValueError(f"{name} has {V.ndim} dimensions: a matrix has 2")
    wanted = precision(name, V.dtype)
    if sparse and V.format not in ("csr", "csc"):
        V = V.tocsr()
    V = converted(V, wanted if dtype is None else dtype, name)
    if sparse:
        return _tidy(V)
    flags = V.flags
    return V if flags.aligned and (flags.c_contiguous or flags.f_contiguous) else V.copy()


def converted(A: Any, dtype: Any, name: str) -> Any:
    """A in this precision, with a warning if positive entries are too small for it and become zero."""
    found = A.astype(dtype, copy=False)
    if A.dtype.kind == "f" and A.dtype.itemsize > found.dtype.itemsize:
        before, after = (X.data if is_sparse(X) else X for X in (A, found))
        lost = np.count_nonzero(before) - np.count_nonzero(after)
        if lost:
            warn(
                f"{lost} positive entries of {name} are too small for {found.dtype} and become 0: multiply "
                f"{name} by a constant, or give V as float64",
                RuntimeWarning,
            )
    return found


def _tidy(V: Any) -> Any:
    """A CSR or CSC matrix with contiguous arrays of the right length and indices of 32 or 64 bits."""
    end = V.indptr[-1]
    plain = all(part.flags.c_contiguous and part.flags.aligned for part in (V.data, V.indices, V.indptr))
    wide = V.indices.dtype in (np.int32, np.int64) and V.indptr.dtype in (np.int32, np.int64)
    if plain and wide and len(V.data) == len(V.indices) == end:
        return V
    wanted = V.data[:end], V.indices[:end], V.indptr
    data, indices, indptr = (np.require(part, requirements="CA") for part in wanted)
    return type(V)((data, indices.astype(np.int64), indptr.astype(np.int64)), shape=V.shape)


def matrices(V: Any, **factors: Any) -> tuple[Any, ...]:
    """V and its factors as matrices in the highest of their precisions."""
    arrays = {name: dense(A) for name, A in factors.items()}
    V = matrix(V)
    dtype = np.result_type(V.dtype, *(precision(name, A.dtype) for name, A in arrays.items()))
    return matrix(V, dtype), *(factor(name, A, dtype) for name, A in arrays.items())


def dense(A: Any) -> NDArray:
    """A as a dense array."""
    return A.toarray() if is_sparse(A) else np.asarray(A)


def factor(name: str, A: Any, dtype: Any) -> NDArray:
    """A factor in the precision of V."""
    A = dense(A)
    precision(name, A.dtype)
    if A.ndim != 2:
        raise ValueError(f"{name} has {A.ndim} dimensions: a matrix has 2")
    # An array that came from another process may be misaligned.
    return np.require(converted(A, dtype, name), requirements="A")


def pair(init: Any, names: str = "W, H") -> tuple[Any, Any]:
    """The two factors of a start that is not a name."""
    if not isinstance(init, (tuple, list)) or len(init) != 2:
        kind = type(init).__name__
        raise TypeError(f"init is of type {kind}: give 'random', 'nndsvd' or a pair ({names})")
    return init[0], init[1]


def count(name: str, value: Any, least: int = 0, most: int = 2**64 - 1) -> int:
    """A whole number within bounds."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} = {value!r}: a whole number is needed") from None
    if number < least:
        raise ValueError(f"{name} = {number}: a whole number ≥ {least} is needed")
    if number > most:
        raise ValueError(f"{name} = {number}: at most {most} is possible")
    return number


def maybe_count(name: str, value: Any) -> int | None:
    """The same, or None."""
    return None if value is None else count(name, value)


def parts(name: str, value: Any, shape: tuple[int, int]) -> int:
    """A number of parts for a matrix of this shape."""
    return count(name, value, 1, max(shape[0] * shape[1], 1))


def number(name: str, value: Any) -> float:
    """A number that is finite and not negative."""
    try:
        found = math.nan if isinstance(value, (str, bytes)) else float(value)
    except TypeError:
        found = math.nan
    if not (math.isfinite(found) and found >= 0):
        raise ValueError(f"{name} = {value!r}: a finite number ≥ 0 is needed")
    return found


def maybe_number(name: str, value: Any) -> float | None:
    """The same, or None."""
    return None if value is None else number(name, value)


def word(name: str, value: Any) -> str:
    """The name of a choice."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is of type {type(value).__name__}: give the name of a choice, a str")
    return value


def threads(value: Any, n_jobs: Any = None) -> int:
    """The number of threads, 0 for one per core, from `threads` and scikit-learn's `n_jobs`."""
    given = None if value is None else count("threads", value)
    if n_jobs is None:
        return given or 0
    jobs = count("n_jobs", n_jobs, least=-(2**63))
    if jobs == 0:
        raise ValueError("n_jobs = 0: give a number of threads, or -1 for one per core")
    cores = os.cpu_count() or 1
    workers = jobs if jobs > 0 else 0 if jobs == -1 else max(cores + 1 + jobs, 1)
    if given is not None and (given or cores) != (workers or cores):
        raise ValueError(f"threads = {given} and n_jobs = {jobs} are two names of one option: give one")
    return workers


@contextmanager
def turned(V: str, W: str, H: str, columns: NDArray | None = None) -> Iterator[None]:
    """Translates errors about entries of V, W and H to their transposes, with these names.

    `columns` are the positions of the rows of V in a larger matrix.
    """
    names = {"V": V, "W": W, "H": H}
    try:
        yield
    except ValueError as error:
        if not re.match(r"[VWH]\[\d+, \d+\] = ", str(error)):
            raise

        def place(at: re.Match[str]) -> str:
            row = int(at[2])
            return f"{names.get(at[1], at[1])}[{at[3]}, {row if columns is None else columns[row]}]"

        text = re.sub(r"(\S+)\[(\d+), (\d+)\]", place, str(error))
        text = re.sub(r"row (\d+) of the dictionary", rf"column \1 of {W}", text)
        raise ValueError(
            text.replace("drop the row or give the dictionary", f"drop the column or give {W}")
        ) from None
