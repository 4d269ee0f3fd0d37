"""Pieces of V, cut at multiples of 64 columns or rows, and what a process computes from them.

A factor with r rows is stored with a row of r numbers for each of its columns, so that pieces follow each
other in memory. Every function here is pure: it may run again in another process, to the same bits.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klnmf import _klnmf
from klnmf._data import is_sparse, matrix

# Columns whose values are summed before their sum is added to the total.
CHUNK = 64
LEVELS = ["plain", "avx2", "avx512"]


def assembled(values: NDArray, positions: Any) -> Any:
    """The matrix that the native module gives as arrays: by columns, dense or sparse."""
    if positions is None:
        return values
    from scipy.sparse import csc_array

    indices, pointers, shape = positions
    return csc_array((values, indices, pointers), shape=shape)


def piece(values: NDArray, positions: Any) -> Any:
    """The piece that was pickled."""
    return _klnmf.Piece(matrix(assembled(values, positions)), 1)


class Held:
    """A matrix in memory. Side 0 are its columns, side 1 its rows."""

    def __init__(self, V: Any) -> None:
        V = matrix(V)
        if is_sparse(V) and not V.has_canonical_format:
            # As the library does it with the whole matrix.
            V = V.copy()
            V.sum_duplicates()
            V.eliminate_zeros()
        self.sides = (V.tocsc(), V.tocsr()) if is_sparse(V) else (V, V)
        self.shape, self.dtype = V.shape, V.dtype

    def work(self, side: int) -> NDArray:
        """The numbers that are stored in every line."""
        if is_sparse(self.sides[side]):
            return np.diff(self.sides[side].indptr)
        return np.full(self.shape[1 - side], self.shape[side])

    def block(self, side: int, first: int, end: int) -> Any:
        """Some lines as the columns of a matrix."""
        V = self.sides[side]
        return matrix(V[:, first:end] if side == 0 else V[first:end].T)


class File(NamedTuple):
    """A file that every process reads itself."""

    path: str
    layer: str | None
    single: bool

    def outline(self) -> tuple[NDArray, NDArray, Any, Any]:
        """The work of every column and of every row, and their names: rows first."""
        if is_folder(self.path):
            return _klnmf.folder(self.path)
        V, names = whole(self)
        return V.work(0), V.work(1), *names

    def block(self, side: int, first: int, end: int) -> Any:
        """Some lines as the columns of a matrix."""
        if is_folder(self.path):
            return assembled(*_klnmf.read_lines(self.path, side, first, end, self.single))
        return whole(self)[0].block(side, first, end)


def is_folder(path: str) -> bool:
    """Whether the path is a converted matrix, of which some lines can be read."""
    return path.rstrip("/").endswith(".klnmf") and os.path.isdir(path)


def convert(
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    layer: str | None = None,
    memory: int = 1 << 30,
) -> None:
    """Convert a matrix into a folder of which every process reads only its part, as `klnmf convert` does.

    Parameters
    ----------
    source : path
        A file of any format that the program reads.
    folder : path
        The new folder; its name ends in .klnmf.
    layer : str, optional
        A layer of an .h5ad file instead of X.
    memory : int
        Bytes of memory for the conversion.
    """
    if not os.fspath(folder).endswith(".klnmf"):
        raise ValueError(f"{os.fspath(folder)}: give a name that ends in .klnmf")
    _klnmf.convert(os.fspath(source), layer, os.fspath(folder), memory)


def whole(file: File) -> tuple[Held, Any]:
    """The matrix of a file and its names. The file is read again if it has changed."""
    return _whole(file, os.stat(file.path).st_mtime_ns)


@lru_cache(maxsize=1)
def _whole(file: File, _changed: int) -> tuple[Held, Any]:
    """The matrix of a file that can only be read as a whole, and its names."""
    arrays, names = _klnmf.read_matrix(file.path, file.layer, file.single)
    return Held(assembled(*arrays)), names


def forget() -> None:
    """Drops the file that was read last. Another process may not have heard of it."""
    _whole.cache_clear()


def cuts(work: NDArray, pieces: int) -> list[tuple[int, int]]:
    """Ranges of lines that are about equal work and begin at multiples of 64."""
    lines = len(work)
    starts = np.arange(0, lines, CHUNK)
    # A line costs something even if it is empty.
    done = np.cumsum(np.add.reduceat(np.asarray(work, float) + 1, starts))
    wanted = done[-1] * np.arange(1, pieces) / pieces
    found = np.searchsorted(done, wanted - 0.5 * done[-1] / len(starts)) + 1
    at = sorted({0, *(int(end) * CHUNK for end in found if end < len(starts)), lines})
    return list(zip(at[:-1], at[1:], strict=True))


class Facts(NamedTuple):
    """What the library wants to know of V."""

    shape: tuple[int, int]
    sum: float
    nonzero: tuple[int, float, float]
    sparse: bool
    hash: int


def facts_of(piece: Any, shape: tuple[int, int], first: int) -> tuple[Any, int]:
    """The facts of a piece, and its part of the hash of V."""
    return piece.facts(), piece.hash(*shape, first)


def all_facts(shape: tuple[int, int], pieces: Sequence[tuple[Any, int]]) -> Facts:
    """The facts of V from those of the pieces of its columns, in order."""
    total = 0.0
    for (_, _, sums, *_), _ in pieces:
        # One by one, in the order in which one process adds them.
        for part in sums:
            total += part
    if not np.isfinite(total):
        raise ValueError("the sum of V is too large for 64-bit numbers: divide V by a constant")
    count = sum(each[3] for each, _ in pieces)
    least, most = min(each[4] for each, _ in pieces), max(each[5] for each, _ in pieces)
    parts = sum(part for _, part in pieces) % 2**64
    return Facts(shape, total, (count, least, most), bool(pieces[0][0][6]), parts)


def make_piece(block: Any, side: int, first: int, level: str) -> Any:
    """A piece of V from its columns, or of Vᵀ from the rows of V."""
    _klnmf.set_instruction_level(level)
    with placed(side, first):
        # What comes from another process may be misaligned.
        return _klnmf.Piece(matrix(block), 1)


def load_piece(file: File, turned: bool, side: int, first: int, end: int, level: str) -> Any:
    """A piece of V from a file."""
    return make_piece(file.block(side ^ turned, first, end), side, first, level)


@contextmanager
def placed(side: int, first: int) -> Iterator[None]:
    """Translates errors about an entry of a piece to its place in V."""

    def place(at: re.Match[str]) -> str:
        row, column = int(at[1]), first + int(at[2])
        return f"V[{row}, {column}]" if side == 0 else f"V[{column}, {row}]"

    try:
        yield
    except ValueError as error:
        raise ValueError(re.sub(r"\AV\[(\d+), (\d+)\]", place, str(error))) from None


def factor_of(part: Any) -> NDArray:
    """A piece of a factor: an array, or the first result of a half-step."""
    # What comes from another process may be misaligned.
    return np.require(part[0] if isinstance(part, tuple) else part, requirements="CA")


def weights_of(part: Any) -> NDArray:
    """The weights of columns: an array, or the second result of a half-step."""
    return np.require(part[1] if isinstance(part, tuple) else part.ravel(), requirements="CA")


def sums_of(part: Any) -> NDArray:
    """What a half-step measured."""
    return part[2]


def half_step(piece: Any, k: list, x: Any, weights: Any, how: tuple, level: str, threads: int) -> Any:
    """The weights, the state of the columns and the measured sums after a half-step."""
    _klnmf.set_instruction_level(level)
    name, *rest = how
    k = [factor_of(part) for part in k]
    return piece.half_step(name, k, factor_of(x), weights_of(weights), tuple(rest), threads)


def evaluate(piece: Any, k: list, x: Any, how: tuple, level: str, threads: int) -> NDArray:
    """Divergence and gap of the columns of a piece."""
    _klnmf.set_instruction_level(level)
    return piece.evaluate([factor_of(part) for part in k], factor_of(x), how, threads)


def first_infinite(piece: Any, k: list, x: Any, level: str) -> Any:
    """The first entry that is positive where the model is zero."""
    _klnmf.set_instruction_level(level)
    return piece.first_infinite([factor_of(part) for part in k], factor_of(x), 1)


def carry_on(y: Any, x: Any, beta: float, upwards: bool) -> NDArray:
    """Extrapolates y from x."""
    return _klnmf.carry_on(factor_of(y), factor_of(x), beta, upwards)


def cast(x: Any, single: bool) -> NDArray:
    """A factor in f32 or f64."""
    return factor_of(x).astype(np.float32 if single else np.float64, copy=False)


def scale(x: Any, by: list[float], divide: bool) -> NDArray:
    """A factor whose rows are multiplied or divided by numbers, in f64."""
    x = factor_of(x)
    wide = x.astype(np.float64)
    return (wide / by if divide else wide * by).astype(x.dtype)


def reorder(x: Any, order: list[int]) -> NDArray:
    """The rows of a factor in another order."""
    return np.ascontiguousarray(factor_of(x)[:, order])


def row_sums(x: list, level: str) -> list[float]:
    """The sums of the rows of a factor."""
    _klnmf.set_instruction_level(level)
    return _klnmf.row_sums([factor_of(part) for part in x])


def within(x: Any, least: float, most: float) -> bool:
    """Whether the entries that are not zero lie in a range."""
    x = factor_of(x).astype(np.float64, copy=False)
    return bool(np.all((x == 0) | ((x >= least) & (x <= most))))


def level() -> str:
    """The instruction level of this process."""
    return _klnmf.instruction_level()


def lowest(levels: Sequence[str]) -> str:
    """The best instructions that all processes have."""
    return min(levels, key=LEVELS.index)
