"""Arguments in the form that the native half takes, copied only if they must be."""

from __future__ import annotations

import operator
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray


def is_sparse(V: Any) -> bool:
    """Whether V is a matrix of scipy's, without importing scipy: who has one has imported it."""
    scipy = sys.modules.get("scipy.sparse")
    return scipy is not None and scipy.issparse(V)


def precision(dtype: np.dtype) -> np.dtype:
    """f32 for floats of at most 32 bits, f64 for everything else."""
    if dtype.kind == "c":
        raise TypeError("V holds complex numbers: take their magnitudes, or their squares")
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


def matrix(V: Any, dtype: Any = None) -> Any:
    """V as a contiguous 2-D array or a CSR or CSC matrix of f32 or f64."""
    if is_sparse(V):
        V = V if V.format in ("csr", "csc") else V.tocsr()
        return _as_type(V, dtype)
    V = np.asarray(V)
    if V.ndim != 2:
        raise ValueError(f"V has {V.ndim} dimensions: a matrix has 2")
    V = _as_type(V, dtype)
    flags = V.flags
    return V if flags.aligned and (flags.c_contiguous or flags.f_contiguous) else V.copy()


def _as_type(V: Any, dtype: Any) -> Any:
    wanted = precision(V.dtype) if dtype is None else np.dtype(dtype)
    return V.astype(wanted, copy=False)


def matrices(V: Any, **factors: Any) -> tuple[Any, ...]:
    """V and factors of it as matrices in the widest of their precisions."""
    arrays = {name: np.asarray(A) for name, A in factors.items()}
    V = matrix(V)
    dtype = np.result_type(V.dtype, *(precision(A.dtype) for A in arrays.values()))
    return matrix(V, dtype), *(factor(name, A, dtype) for name, A in arrays.items())


def matched(V: Any, name: str, A: Any, axis: int) -> Any:
    """A with the rows (axis 0) or columns (1) of V: those of two data frames are matched by their labels."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not (isinstance(V, pandas.DataFrame) and isinstance(A, pandas.DataFrame)):
        return A
    ours, theirs = V.axes[axis], A.axes[axis]
    if ours.equals(theirs):
        return A
    line = ("row", "column")[axis]
    for mine, others, where, whose in ((ours, theirs, name, "the data"), (theirs, ours, "the data", name)):
        wrong = mine[~mine.isin(others)].tolist(), mine[mine.duplicated()].tolist()
        if any(wrong):
            trouble = f"is not in {where}" if wrong[0] else "is there twice"
            raise ValueError(
                f"{line} {(wrong[0] or wrong[1])[0]!r} of {whose} {trouble}: give data frames with the same "
                f"{line}s, or arrays, which are matched by position"
            )
    return A.reindex(ours, axis=axis)


def factor(name: str, A: Any, dtype: Any) -> NDArray:
    """A factor in the precision of V."""
    A = np.asarray(A)
    if A.ndim != 2:
        raise ValueError(f"{name} has {A.ndim} dimensions: a matrix has 2")
    return A.astype(dtype, copy=False)


def count(name: str, value: Any) -> int:
    """A whole number that is not negative."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} = {value!r}: a whole number is needed") from None
    if number < 0:
        raise ValueError(f"{name} = {number}: a whole number ≥ 0 is needed")
    return number


def maybe_count(name: str, value: Any) -> int | None:
    """The same, or None."""
    return None if value is None else count(name, value)


def threads(value: Any) -> int:
    """None for one thread per core."""
    return 0 if value is None else count("threads", value)
