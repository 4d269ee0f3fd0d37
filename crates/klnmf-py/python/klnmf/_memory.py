"""The memory that a factorisation needs, and what is free."""

from __future__ import annotations

from typing import Any

import numpy as np

from klnmf import _klnmf
from klnmf._choices import Solver
from klnmf._data import is_sparse, matrix, parts, precision, word
from klnmf._data import threads as thread_count
from klnmf._labels import labelled
from klnmf._results import Memory


def memory(
    V: Any, rank: int, *, solver: Solver = "auto", threads: int | None = None, n_jobs: int | None = None
) -> Memory:
    """Compute an upper bound of the memory that `factorize` needs.

    Parameters
    ----------
    V : array-like or scipy.sparse matrix of shape (features, samples)
        The data.
    rank : int
        Number of parts.
    solver : str
        The method of `factorize`.
    threads : int, optional
        Number of threads; one per core by default.
    n_jobs : int, optional
        scikit-learn's name of `threads`: -1 means one per core, -2 one fewer.

    Returns
    -------
    Memory
        In bytes.

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> klnmf.memory(np.zeros((100, 50)), 10, threads=2)[:2]
    (40000, 12000)
    """
    V = labelled(V).matrix
    if not is_sparse(V):
        # Only the size matters, so numbers of another type are not converted.
        V = np.asarray(V)
        V = V if V.ndim != 2 or V.dtype.kind == "f" else np.empty(V.shape, precision("V", V.dtype))
    V = matrix(V)
    rank = parts("rank", rank, V.shape)
    return Memory(*_klnmf.memory(V, rank, thread_count(threads, n_jobs), word("solver", solver)))


def check_memory(V: Any, rank: int, threads: int, solver: str = "auto") -> None:
    """Raise an error if the work cannot fit in the free memory, where the system reports that."""
    free = _free_memory()
    if free is None:
        return
    # V itself is already in memory.
    v, _, _, total = _klnmf.memory(V, rank, threads, solver)
    if total - v > free:
        raise MemoryError(
            f"rank {rank} needs up to {total - v:,} bytes more memory and {free:,} bytes are free: choose a "
            "smaller rank, f32, or a larger machine"
        )


def _free_memory() -> int | None:
    """Bytes that can be allocated without swapping, on Linux."""
    try:
        with open("/proc/meminfo") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return None
