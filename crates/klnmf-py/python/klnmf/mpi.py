"""Factorisations with MPI, to the same bytes as in one process.

Every process holds some columns and some rows of V. After a step on one factor, all processes exchange their
parts of it. Start the same program on all of them:

    mpirun -n 4 python -m klnmf.mpi factorize counts.klnmf --rank 20 --out model.npz
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from klnmf import _klnmf, _pieces
from klnmf._choices import Solver, Update
from klnmf._cluster import Backend, Source, run
from klnmf._data import count
from klnmf._files import call_of
from klnmf._pieces import convert, cuts
from klnmf._results import Info, Result

__all__ = ["convert", "factorize"]


def _world() -> Any:
    """All processes. MPI begins with the first import of its module, so that is left to the first call."""
    try:
        from mpi4py import MPI
    except ImportError:
        raise ImportError("klnmf.mpi needs MPI and mpi4py: pip install 'klnmf[mpi]'") from None
    return MPI.COMM_WORLD


class _Ranks(Backend):
    """One piece of V by columns and one by rows in every process. A factor is the part of this process."""

    def __init__(self, comm: Any, source: Source, threads: int) -> None:
        self.comm, self.threads, self.single = comm, threads, source.single
        self.writes = comm.rank == 0
        self.level = _pieces.lowest(comm.allgather(_pieces.level()))
        _klnmf.set_instruction_level(self.level)
        outline = _together(comm, lambda: source.outline() if self.writes else None)
        columns, rows, self.features, self.samples = comm.bcast(outline)
        # A process without a piece holds lines 0 to 0.
        self.cuts = [_filled(cuts(work, comm.size), comm.size) for work in (columns, rows)]
        mine = [side_cuts[comm.rank] for side_cuts in self.cuts]

        def piece_of(side: int) -> Any:
            first, end = mine[side]
            if first == end:
                return None
            return _pieces.make_piece(source.block(side, first, end), side, first, self.level)

        self.pieces = _together(comm, lambda: [piece_of(0), piece_of(1)])
        # A file that is read as a whole is no longer needed.
        _pieces.forget()
        shape = len(rows), len(columns)
        piece, first = self.pieces[0], mine[0][0]
        found = comm.allgather(None if piece is None else _pieces.facts_of(piece, shape, first))
        self.facts = _pieces.all_facts(shape, [each for each in found if each is not None])
        # The last factor that was gathered, and its parts.
        self.gathered: tuple[Any, Any] = (None, None)

    def gather(self, side: int, part: NDArray) -> NDArray:
        """The whole factor from the parts of all processes."""
        if self.gathered[0] is part:
            return self.gathered[1]
        part = np.ascontiguousarray(part)
        sizes = [end - first for first, end in self.cuts[side]]
        whole = np.empty((sum(sizes), part.shape[1]), part.dtype)
        from mpi4py.util.dtlib import from_numpy_dtype

        # One element is a whole column, so that counts stay small.
        kind = from_numpy_dtype(part.dtype).Create_contiguous(part.shape[1]).Commit()
        starts = [first for first, end in self.cuts[side]]
        self.comm.Allgatherv([part, len(part), kind], [whole, sizes, starts, kind])
        kind.Free()
        return whole

    def fixed(self, side: int, k: NDArray) -> list[NDArray]:
        """The dictionary of a half-step, kept for the certificate that may follow."""
        whole = self.gather(1 - side, k)
        self.gathered = (k, whole)
        return [whole]

    def put(self, side: int, array: NDArray, single: bool) -> NDArray:
        first, end = self.cuts[side][self.comm.rank]
        return array[first:end].astype(np.float32 if single else np.float64)

    def get(self, side: int, array: NDArray) -> NDArray:
        # Weights of columns have one dimension.
        array = array[:, None] if array.ndim == 1 else array
        return self.gather(side, array).astype(np.float64)

    def half_step(self, side: int, how: tuple, factors: tuple) -> tuple:
        k, x, weights = factors
        piece, whole = self.pieces[side], self.fixed(side, k)
        moved = (x, weights, [])
        if piece is not None:
            moved = _pieces.half_step(piece, whole, x, weights, how, self.level, self.threads)
        sums = self.comm.allgather(moved[2]) if how[-1] else []
        return moved[0], moved[1], [float(each) for part in sums for each in part]

    def carry_on(self, y: NDArray, x: NDArray, beta: float, upwards: bool) -> NDArray:
        return _pieces.carry_on(y, x, beta, upwards)

    def cast(self, x: NDArray, single: bool) -> NDArray:
        return _pieces.cast(x, single)

    def scale(self, x: NDArray, by: list[float], divide: bool) -> NDArray:
        return _pieces.scale(x, by, divide)

    def reorder(self, x: NDArray, order: list[int]) -> NDArray:
        return _pieces.reorder(x, order)

    def row_sums(self, x: NDArray) -> list[float]:
        parts = [part for part in self.comm.allgather(x) if len(part)]
        return _pieces.row_sums(parts, self.level)

    def within(self, x: NDArray, least: float, most: float) -> bool:
        return all(self.comm.allgather(_pieces.within(x, least, most)))

    def evaluate(self, side: int, how: tuple, factors: tuple) -> list:
        k, x = factors
        piece, whole = self.pieces[side], self.fixed(side, k)
        found = (
            [] if piece is None else _pieces.evaluate(piece, whole, x, how, self.level, self.threads).tolist()
        )
        return [each for part in self.comm.allgather(found) for each in part]

    def first_infinite(self, wt: NDArray, h: NDArray) -> Any:
        piece, whole, found = self.pieces[0], self.fixed(0, wt), None
        if piece is not None:
            found = _pieces.first_infinite(piece, whole, h, self.level)
        if found is not None:
            row, column, value = found
            found = row, self.cuts[0][self.comm.rank][0] + column, value
        return next((each for each in self.comm.allgather(found) if each is not None), None)

    def agree(self, wish: bool) -> bool:
        return any(self.comm.allgather(wish))


def _together(comm: Any, work: Callable[[], Any]) -> Any:
    """What `work` returns. If it fails in one process, it fails in all, so that none waits for ever."""
    found, failure = None, None
    try:
        found = work()
    except Exception as error:
        failure = error
    failures = [each for each in comm.allgather(failure) if each is not None]
    if failures:
        raise failure or failures[0]
    return found


def _filled(ranges: list[tuple[int, int]], size: int) -> list[tuple[int, int]]:
    """The ranges, and empty ones for processes without a piece."""
    end = ranges[-1][1]
    return [*ranges, *[(end, end)] * (size - len(ranges))]


def factorize(
    V: Any,
    rank: int | None = None,
    *,
    comm: Any = None,
    transpose: bool = False,
    layer: str | None = None,
    dtype: Any = None,
    init: str | tuple[ArrayLike, ArrayLike] = "random",
    solver: Solver = "auto",
    update: Update = "both",
    fixed: int = 0,
    tol: float = 3e-3,
    max_iter: int = 2000,
    time_limit: float | None = None,
    seed: int = 0,
    inner: int | None = None,
    mixed: bool | None = None,
    check_every: int | None = None,
    callback: Callable[[Info], Any] | None = None,
    progress: bool = False,
    threads: int = 1,
    checkpoint: Any = None,
    every: float = 120.0,
    resume: Any = None,
) -> Result:
    """Factor V on all processes of a communicator, to the same bytes as `klnmf.factorize`.

    All processes call this with the same arguments, and all get the whole result.

    Parameters
    ----------
    V : array-like, scipy.sparse matrix, data frame or path
        features × samples. A path is read by every process: a folder that `klnmf convert` wrote in parts,
        other files as a whole.
    rank : int, optional
        Number of parts. May be left out if `init` is a pair.
    comm : mpi4py.MPI.Comm, optional
        The processes; COMM_WORLD by default.
    transpose, layer, dtype, init, solver, checkpoint, every, resume
        As in `klnmf.dask.factorize`.
    update, fixed, tol, max_iter, time_limit, seed, inner, mixed, check_every, callback, progress
        As in `klnmf.factorize`. If one process stops, all stop.
    threads : int
        Threads of every process.

    Returns
    -------
    Result
        As of `klnmf.factorize`.
    """
    call = call_of(factorize, locals()).replace("klnmf.", "klnmf.mpi.", 1)
    comm = _world() if comm is None else comm
    backend = _Ranks(comm, Source(V, layer, dtype, transpose), count("threads", threads))
    return run(
        backend,
        rank,
        call=call,
        init=init,
        solver=solver,
        update=update,
        fixed=fixed,
        tol=tol,
        max_iter=max_iter,
        time_limit=time_limit,
        seed=seed,
        inner=inner,
        mixed=mixed,
        check_every=check_every,
        callback=callback,
        progress=progress and comm.rank == 0,
        checkpoint=checkpoint,
        every=every,
        resume=resume,
    )


def main(arguments: list[str] | None = None) -> int:
    """`python -m klnmf.mpi factorize FILE --rank 20 --out model.npz`."""
    parser = argparse.ArgumentParser(prog="python -m klnmf.mpi", description=__doc__.splitlines()[0])
    verb = parser.add_subparsers(dest="verb", required=True).add_parser("factorize", help="factor a matrix")
    verb.add_argument("data", help="a folder of klnmf convert, or a file that every process reads")
    verb.add_argument("--rank", type=int, help="number of parts")
    verb.add_argument("--out", required=True, help="file (.npz) for the model")
    verb.add_argument("--force", action="store_true", help="replace the file of --out")
    verb.add_argument("--transpose", action="store_true", help="the data are samples × features")
    verb.add_argument("--layer", help="a layer of an .h5ad file instead of X")
    verb.add_argument("--precision", choices=["f32", "f64"], default="f64", help="precision of the factors")
    verb.add_argument("--solver", default="auto", help="the method")
    verb.add_argument("--tol", type=float, default=3e-3, help="tolerance of the gaps")
    verb.add_argument("--max-iter", type=int, default=2000, help="iteration limit")
    verb.add_argument("--seed", type=int, default=0, help="seed of the random start")
    verb.add_argument("--threads", type=int, default=1, help="threads of every process")
    verb.add_argument("--checkpoint", help="file (.npz) for the state of the run")
    verb.add_argument("--every", type=float, default=120.0, help="seconds between two checkpoints")
    verb.add_argument("--resume", help="continue from a checkpoint")
    options = parser.parse_args(arguments)
    comm = _world()
    try:
        if comm.rank == 0:
            _check_out(options.out, options.force)
        found = factorize(
            options.data,
            options.rank,
            transpose=options.transpose,
            layer=options.layer,
            dtype="float32" if options.precision == "f32" else "float64",
            solver=options.solver,
            tol=options.tol,
            max_iter=options.max_iter,
            seed=options.seed,
            threads=options.threads,
            checkpoint=options.checkpoint,
            every=options.every,
            resume=options.resume,
        )
        if comm.rank == 0:
            found.save(options.out, overwrite=options.force)
            print(f"{options.out}: {found!r}")
    except BaseException as error:
        # The other processes may wait for this one, so all must end. If all fail, the first one says why.
        time.sleep(min(comm.rank, 1))
        if isinstance(error, (ValueError, OSError, TypeError)):
            print(f"error: {error}", file=sys.stderr, flush=True)
        else:
            traceback.print_exc()
        comm.Abort(1)
    return 0


def _check_out(path: str, force: bool) -> None:
    """Fails before the work if the model could not be written after it."""
    if not path.endswith(".npz"):
        raise ValueError(f"{path}: the result is a .npz file; give a name that ends in .npz")
    if os.path.lexists(path) and not force:
        raise FileExistsError(f"{path} exists: give another name, or --force")


if __name__ == "__main__":
    sys.exit(main())
