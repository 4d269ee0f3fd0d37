"""A factorisation on several processes, whatever connects them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from klnmf import _klnmf
from klnmf._core import TRACE, _given
from klnmf._data import count, dense, factor, matrix, maybe_count, maybe_number, number, parts, word
from klnmf._labels import labelled
from klnmf._pieces import Facts, File, Held
from klnmf._progress import watching
from klnmf._results import Info, Result


class Source:
    """V and its labels: in memory, or in a file that every process reads."""

    def __init__(self, V: Any, layer: str | None, dtype: Any, transpose: bool) -> None:
        self.turned = transpose
        self.rows = self.columns = None
        if isinstance(V, (str, os.PathLike)):
            single = np.dtype("float64" if dtype is None else dtype) == np.float32
            self.data: Any = File(os.path.abspath(os.fspath(V)), layer, single)
            self.single = single
            return
        if layer is not None:
            raise ValueError("layer: only a path to an .h5ad file has layers")
        V, self.rows, self.columns = labelled(V)
        self.data = Held(matrix(V, dtype))
        self.single = self.data.dtype == np.float32
        if transpose:
            self.rows, self.columns = self.columns, self.rows

    def outline(self) -> tuple[Any, Any, Any, Any]:
        """The work of every column and of every row, and the names of rows and of columns."""
        if isinstance(self.data, File):
            columns, rows, row_names, column_names = self.data.outline()
            if self.turned:
                return rows, columns, column_names, row_names
            return columns, rows, row_names, column_names
        columns, rows = (self.data.work(side ^ self.turned) for side in (0, 1))
        return columns, rows, self.rows, self.columns

    def block(self, side: int, first: int, end: int) -> Any:
        """Some columns (side 0) or rows (side 1) of V as the columns of a matrix."""
        return self.data.block(side ^ self.turned, first, end)


class Backend:
    """The processes that hold V: what the native module asks of them. See `klnmf::Cluster`."""

    facts: Facts
    single: bool
    # Whether this process writes checkpoints.
    writes: bool = True
    # The last state of the run.
    last: Any = None
    features: Any = None
    samples: Any = None

    def agree(self, wish: bool) -> bool:
        return wish

    def lost(self, error: BaseException) -> bool:
        """Whether the run can continue from its last state after this error."""
        return False


def run(
    backend: Backend,
    rank: int | None,
    *,
    call: str,
    init: Any,
    solver: str,
    update: str,
    fixed: int,
    tol: float,
    max_iter: int,
    time_limit: float | None,
    seed: int,
    inner: int | None,
    mixed: bool | None,
    check_every: int | None,
    callback: Callable[[Info], Any] | None,
    progress: bool,
    checkpoint: Any,
    every: float,
    resume: Any,
) -> Result:
    """Factorises the V of a backend."""
    max_iter = count("max_iter", max_iter)
    names = None
    if resume is not None:
        start: Any = _resumed(backend, resume, rank)
        checkpoint = resume if checkpoint is None else checkpoint
    elif isinstance(init, str):
        if word("init", init) != "random":
            raise ValueError(f"init = {init}: on several processes, give 'random' or a pair (W, H)")
        if rank is None:
            raise TypeError("rank is missing: give the number of parts")
        start = parts("rank", rank, backend.facts.shape), count("seed", seed)
    else:
        W, H = _given(init, backend.features, backend.samples)
        dtype = np.float32 if backend.single else np.float64
        start = factor("W", dense(W.matrix), dtype), factor("H", dense(H.matrix), dtype)
        names = W.columns
    how = (
        word("solver", solver),
        mixed,
        word("update", update),
        count("fixed", fixed),
        maybe_count("inner", inner),
        max_iter,
        number("tol", tol),
        maybe_number("time_limit", time_limit),
        maybe_count("check_every", check_every),
    )
    saving = None if checkpoint is None else os.fspath(checkpoint), number("every", every)
    make = partial(Info, update=update)

    def say(info: Info) -> str:
        return f"D = {info.divergence:.6g}, gap = {info.relative_gap:.1e}"

    with watching(make, callback, progress, max_iter, say) as hear:
        while True:
            try:
                found = _klnmf.factorize_on(backend, start, how, saving, hear)
                break
            except Exception as error:
                # Once from every state: what fails twice is not bad luck.
                if backend.last is None or backend.last is start or not backend.lost(error):
                    raise
                start = backend.last
    W, H, facts, trace, status, data = found
    about = {"call": call, "seed": seed, "solver": solver, "tol": tol, "data_hash": data}
    features, samples = backend.features, backend.samples
    return Result(W, H, make(*facts), np.array(trace, TRACE), status, features, samples, names, about)


def _resumed(backend: Backend, path: Any, rank: int | None) -> Any:
    """The state in a checkpoint, if it belongs to V."""
    shape, *_, parts = backend.facts
    data = _klnmf.hash_text(shape, parts)
    fingerprint = _klnmf.fingerprint(data, backend.facts.sparse, backend.single)
    return _klnmf.State(os.fspath(path), shape, fingerprint, rank)
