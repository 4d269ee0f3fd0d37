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
