"""V and factors on the workers of a Dask cluster, as futures."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klnmf import _klnmf, _pieces
from klnmf._cluster import Backend, Source
from klnmf._data import count, matrix
from klnmf._pieces import File, cuts

try:
    from distributed import Client, Future, get_client
    from distributed.scheduler import KilledWorker
except ImportError:
    raise ImportError("klnmf.dask needs Dask: pip install 'klnmf[dask]'") from None

__all__ = [
    *("Client", "Future", "LargeGraphs", "Source", "Workers"),
    *("common_level", "get_client", "same", "source_of"),
]


class Weights(list):
    """The results of half-steps, as weights of columns."""


class Workers(Backend):
    """Pieces of V on the workers, as futures."""

    def __init__(self, client: Client | None, source: Any, pieces: int | None, threads: int) -> None:
        client = get_client() if client is None else client
        self.client, self.source, self.threads, self.single = client, source, threads, source.single
        self.level = common_level(client)
        wanted = sum(client.nthreads().values()) if pieces is None else count("pieces", pieces, 1)
        columns, rows, self.features, self.samples = source.outline(self)
        self.cuts = [cuts(columns, wanted), cuts(rows, wanted)]
        self.shape = len(rows), len(columns)

    def load(self) -> None:
        """Makes the pieces of V, by columns and by rows."""
        self.pieces = [self.source.futures(self, side) for side in (0, 1)]
        asked = [
            self.task(_pieces.facts_of, piece, self.shape, first)
            for piece, (first, _) in zip(self.pieces[0], self.cuts[0], strict=True)
        ]
        # Also waits for the rows, whose entries are checked there.
        self.client.gather(self.each(nothing, self.pieces[1]))
        self.facts = _pieces.all_facts(self.shape, self.client.gather(asked))
        self.source.loaded(self)

    def task(self, function: Callable[..., Any], *arguments: Any) -> Future:
        """Submits one task. Its key is new, because equal arguments may be different handles."""
        return self.client.submit(function, *arguments, pure=False)

    def each(self, function: Callable[..., Any], *lists: list, rest: tuple = ()) -> list[Future]:
        """One task for every piece."""
        return [self.task(function, *arguments, *rest) for arguments in zip(*lists, strict=True)]

    def put(self, side: int, array: NDArray, single: bool) -> list[Future]:
        array = array.astype(np.float32 if single else np.float64, copy=False)
        with LargeGraphs():
            return [self.task(same, np.ascontiguousarray(array[a:b])) for a, b in self.cuts[side]]

    def get(self, side: int, array: list) -> NDArray:
        take = _pieces.weights_of if isinstance(array, Weights) else _pieces.factor_of
        found = self.client.gather(self.each(take, array))
        return np.concatenate([part.reshape(len(part), -1) for part in found]).astype(np.float64)

    def half_step(self, side: int, how: tuple, factors: tuple) -> tuple:
        k, x, weights = factors
        rest = how, self.level, self.threads
        moved = [
            self.task(_pieces.half_step, piece, k, part, state, *rest)
            for piece, part, state in zip(self.pieces[side], x, weights, strict=True)
        ]
        sums = self.client.gather(self.each(_pieces.sums_of, moved)) if how[-1] else []
        return moved, Weights(moved), [float(x) for part in sums for x in part]

    def carry_on(self, y: list, x: list, beta: float, upwards: bool) -> list:
        return self.each(_pieces.carry_on, y, x, rest=(beta, upwards))

    def cast(self, x: list, single: bool) -> list:
        return self.each(_pieces.cast, x, rest=(single,))

    def scale(self, x: list, by: list[float], divide: bool) -> list:
        return self.each(_pieces.scale, x, rest=(by, divide))

    def reorder(self, x: list, order: list[int]) -> list:
        return self.each(_pieces.reorder, x, rest=(order,))

    def row_sums(self, x: list) -> list[float]:
        return self.task(_pieces.row_sums, x, self.level).result()

    def within(self, x: list, least: float, most: float) -> bool:
        return all(self.client.gather(self.each(_pieces.within, x, rest=(least, most))))

    def evaluate(self, side: int, how: tuple, factors: tuple) -> list:
        k, x = factors
        rest = how, self.level, self.threads
        asked = [
            self.task(_pieces.evaluate, piece, k, part, *rest)
            for piece, part in zip(self.pieces[side], x, strict=True)
        ]
        return np.concatenate(self.client.gather(asked)).tolist()

    def first_infinite(self, wt: list, h: list) -> Any:
        asked = [
            self.task(_pieces.first_infinite, piece, wt, part, self.level)
            for piece, part in zip(self.pieces[0], h, strict=True)
        ]
        for (first, _), found in zip(self.cuts[0], self.client.gather(asked), strict=True):
            if found is not None:
                row, column, value = found
                return row, first + column, value
        return None

    def lost(self, error: BaseException) -> bool:
        if not isinstance(error, (KilledWorker, CancelledError)):
            return False
        self.load()
        return True


def common_level(client: Client) -> str:
    """The lowest instruction level of all processes, which this one has from now on."""
    # A worker that dies meanwhile does not answer, which is an OSError. Other errors concern the user.
    answers = client.run(_pieces.level, on_error="return").values()
    seen = [level for level in answers if not isinstance(level, OSError)]
    for error in (level for level in seen if isinstance(level, Exception)):
        raise error
    if not seen:
        raise ValueError("the cluster has no workers: start some, or wait for them")
    level = _pieces.lowest([*seen, _pieces.level()])
    _klnmf.set_instruction_level(level)
    return level


def same(x: Any) -> Any:
    """A value of the client as a task."""
    return x


def nothing(_: Any) -> None:
    """Waits for a value."""


class LargeGraphs(warnings.catch_warnings):
    """Arrays of the client stay in the graph, so that a lost worker's can be sent again."""

    def __enter__(self) -> Any:
        found = super().__enter__()
        warnings.filterwarnings("ignore", message="Sending large graph")
        return found


class Sent(Source):
    """V in the client's memory, or in a file."""

    def outline(self, workers: Workers) -> Any:
        if isinstance(self.data, File):
            # The client may not see the file.
            return workers.task(_outline, self).result()
        return super().outline()

    def futures(self, workers: Workers, side: int) -> list[Future]:
        if isinstance(self.data, File):
            rest = self.data, self.turned, side
            return [
                workers.task(_pieces.load_piece, *rest, *cut, workers.level) for cut in workers.cuts[side]
            ]
        with LargeGraphs():
            return [
                workers.task(_pieces.make_piece, self.block(side, *cut), side, cut[0], workers.level)
                for cut in workers.cuts[side]
            ]

    def loaded(self, workers: Workers) -> None:
        workers.client.run(_pieces.forget, on_error="ignore")


def _outline(source: Source) -> Any:
    return Source.outline(source)


class Chunks:
    """V as a dask array, with dense or sparse chunks."""

    def __init__(self, V: Any, dtype: Any, transpose: bool) -> None:
        if any(np.isnan(size) for sizes in V.chunks for size in sizes):
            raise ValueError("V has chunks of unknown size: call V.compute_chunk_sizes() first")
        self.V, self.dtype, self.turned = V, dtype, transpose
        self.single = np.dtype(V.dtype if dtype is None else dtype) in (np.float32, np.float16)
        self.ends = [np.cumsum([0, *sizes]) for sizes in V.chunks]
        self.chunks: Any = None

    def outline(self, workers: Workers) -> Any:
        self.compute(workers)
        counts = np.empty(self.chunks.shape, dtype=object)
        counts.ravel()[:] = workers.client.gather(workers.each(_stored, self.chunks.ravel()))
        # Of every column of V, and of every row.
        columns = np.concatenate([np.sum([each[0] for each in line], axis=0) for line in counts.T])
        rows = np.concatenate([np.sum([each[1] for each in line], axis=0) for line in counts])
        work = (rows, columns) if self.turned else (columns, rows)
        return *work, None, None

    def compute(self, workers: Workers) -> None:
        """Has the chunks computed, unless they are there."""
        if self.chunks is None:
            grid = self.V.to_delayed()
            self.chunks = np.empty(grid.shape, dtype=object)
            self.chunks.ravel()[:] = workers.client.compute(grid.ravel().tolist())

    def futures(self, workers: Workers, side: int) -> list[Future]:
        self.compute(workers)
        axis = 1 - (side ^ self.turned)
        ends, made = self.ends[axis], []
        for first, end in workers.cuts[side]:
            some = np.flatnonzero((ends[:-1] < end) & (ends[1:] > first))
            chunks = self.chunks[some] if axis == 0 else self.chunks[:, some]
            from_, to = first - int(ends[some[0]]), end - int(ends[some[0]])
            rest = axis, from_, to, self.dtype
            block = workers.task(_from_chunks, chunks.tolist(), *rest)
            made.append(workers.task(_pieces.make_piece, block, side, first, workers.level))
        return made

    def loaded(self, workers: Workers) -> None:
        self.chunks = None


def _stored(chunk: Any) -> tuple[NDArray, NDArray]:
    """The numbers that are stored in every column and in every row of a chunk."""
    if hasattr(chunk, "tocoo"):
        found = chunk.tocoo()
        return np.bincount(found.col, minlength=chunk.shape[1]), np.bincount(
            found.row, minlength=chunk.shape[0]
        )
    rows, columns = chunk.shape
    return np.full(columns, rows), np.full(rows, columns)


def _from_chunks(chunks: list[list], axis: int, first: int, end: int, dtype: Any) -> Any:
    """Some columns of V, or rows as columns, from the chunks that they overlap."""
    if hasattr(chunks[0][0], "tocoo"):
        from scipy.sparse import block_array, csc_array, csr_array

        whole = block_array(chunks, format="csr" if axis == 0 else "csc")
        held = (csr_array if axis == 0 else csc_array)(whole)
    else:
        held = np.block(chunks)
    some = held[first:end].T if axis == 0 else held[:, first:end]
    return matrix(some, dtype)


def source_of(V: Any, layer: str | None, dtype: Any, transpose: bool) -> Any:
    if hasattr(V, "to_delayed") and hasattr(V, "chunks"):
        return Chunks(V, dtype, transpose)
    return Sent(V, layer, dtype, transpose)
