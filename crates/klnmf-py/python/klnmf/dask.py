"""Factorisations on a Dask cluster, to the same bytes as in one process.

V is held twice by the workers, by columns and by rows. A step on one factor consists of independent tasks,
one for each piece of V. Workers fetch the other factor from each other; the client only sees sums. What a
lost worker held is computed again. docs/cluster.md says when this pays: use one machine with many cores first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from klnmf import _klnmf, _pieces
from klnmf._choices import Solver, Update
from klnmf._cluster import run
from klnmf._core import decompose as decompose_here
from klnmf._core import factorize as factorize_here
from klnmf._dask import Client, Future, LargeGraphs, Source, Workers, get_client, same, source_of
from klnmf._data import count, number
from klnmf._files import call_of
from klnmf._labels import dictionary, matched
from klnmf._pieces import File, convert
from klnmf._results import Decomposition, Info, Result

__all__ = ["KLNMF", "convert", "decompose", "factorize", "fits"]  # noqa: F822


def factorize(
    V: Any,
    rank: int | None = None,
    *,
    client: Client | None = None,
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
    pieces: int | None = None,
    threads: int = 1,
    checkpoint: Any = None,
    every: float = 120.0,
    resume: Any = None,
) -> Result:
    """Factor V on the workers of a Dask cluster, to the same bytes as `klnmf.factorize`.

    The bytes are those of one process with the same instruction level: all processes use the lowest one that
    they have in common, and `KLNMF_LEVEL` sets it in a single process.

    Parameters
    ----------
    V : array-like, scipy.sparse matrix, data frame, dask array or path
        features × samples. A dask array may have dense chunks or chunks of scipy.sparse. A path is read by
        every worker: a folder that `klnmf convert` wrote in parts, other files as a whole.
    rank : int, optional
        Number of parts. May be left out if `init` is a pair.
    client : distributed.Client, optional
        The cluster; the current client by default.
    transpose : bool
        V is samples × features.
    layer : str, optional
        A layer of an .h5ad file instead of X.
    dtype : dtype, optional
        float32 or float64. By default that of an array, and float64 for a path.
    init : {'random'}, pair (W, H) or Result
        The start.
    solver : {'auto', 'fpa', 'simplex', 'mu', 'mue', 'newton'}
        The method. The others work in one process only.
    update, fixed, tol, max_iter, time_limit, seed, inner, mixed, check_every, callback, progress
        As in `klnmf.factorize`.
    pieces : int, optional
        The pieces of V by columns, and by rows; one for every thread of the workers by default. The result
        does not depend on it.
    threads : int
        Threads of one task. More than 1 pays with workers that have one thread of Dask.
    checkpoint : path, optional
        File (.npz) for the state of the run, as the program's --checkpoint writes it.
    every : float
        Seconds between two states. The client fetches the state even without a file, because what a lost
        worker held is computed again from the last state on.
    resume : path, optional
        Continue from a checkpoint, to the same bytes as a run that was never stopped.

    Returns
    -------
    Result
        As of `klnmf.factorize`.
    """
    call = call_of(factorize, locals()).replace("klnmf.", "klnmf.dask.", 1)
    source = source_of(V, layer, dtype, transpose)
    workers = Workers(client, source, pieces, count("threads", threads, 1))
    workers.load()
    return run(
        workers,
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
        progress=progress,
        checkpoint=checkpoint,
        every=every,
        resume=resume,
    )


def decompose(
    V: Any,
    W: ArrayLike,
    *,
    client: Client | None = None,
    transpose: bool = False,
    layer: str | None = None,
    dtype: Any = None,
    tol: float = 1e-6,
    max_iter: int = 5000,
    pieces: int | None = None,
    threads: int = 1,
) -> Decomposition:
    """Find the best weights of V for fixed parts W on a Dask cluster, as `klnmf.decompose` does.

    The columns are independent, so every task solves some of them, and nothing moves but W and the weights.

    Parameters
    ----------
    V, client, transpose, layer, dtype, pieces, threads
        As in `factorize`.
    W : array-like or data frame of shape (features, parts), or a model
        The parts.
    tol, max_iter
        As in `klnmf.decompose`.

    Returns
    -------
    Decomposition
    """
    call = call_of(decompose, locals()).replace("klnmf.", "klnmf.dask.", 1)
    source = source_of(V, layer, dtype, transpose)
    workers = Workers(client, source, pieces, count("threads", threads, 1))
    known = matched(workers.features, dictionary(W), 0, warns=True)
    rest = number("tol", tol), count("max_iter", max_iter), workers.threads
    with LargeGraphs():
        given = workers.task(same, known.matrix)
    asked = [
        workers.task(_solved, block, given, first, workers.shape, rest)
        for block, (first, _) in zip(source.futures(workers, 0), workers.cuts[0], strict=True)
    ]
    found, parts = zip(*workers.client.gather(asked), strict=True)
    source.loaded(workers)
    status = next((each.status for each in found if not each.converged), "converged")
    fields = {name: np.concatenate([getattr(each, name) for each in found]) for name in _OF_COLUMNS}
    H = np.concatenate([each.H for each in found], axis=1)
    features = known.rows if workers.features is None else workers.features
    about = {"call": call, "tol": tol, "data_hash": _klnmf.hash_text(workers.shape, sum(parts) % 2**64)}
    return Decomposition(
        H,
        **fields,
        status=status,
        W=found[0].W,
        features=features,
        samples=workers.samples,
        parts=known.columns,
        metadata=about,
    )


_OF_COLUMNS = ["divergences", "gaps", "iterations", "columns_converged"]


def _solved(piece: Any, W: Any, first: int, shape: tuple[int, int], rest: tuple) -> tuple[Decomposition, int]:
    """The weights of a piece, and its part of the hash of V."""
    tol, max_iter, threads = rest
    with _pieces.placed(0, first):
        found = decompose_here(
            _pieces.assembled(*piece.arrays()), W, tol=tol, max_iter=max_iter, threads=threads
        )
    return found, piece.hash(*shape, first)


def fits(
    V: Any, plan: Iterable[dict[str, Any]], *, client: Client | None = None, threads: int = 1
) -> list[Future]:
    """Make independent factorisations of one V, each as a task of its own in one process.

    This is the better use of a cluster if V fits into every worker: several seeds or ranks.

    Parameters
    ----------
    V : array-like, scipy.sparse matrix or path
        features × samples. A path is read by every worker.
    plan : iterable of dict
        The arguments of `klnmf.factorize` for every fit, such as {"rank": 5, "seed": 1}.
    client : distributed.Client, optional
        The cluster; the current client by default.
    threads : int
        Threads of one fit.

    Returns
    -------
    list of Future
        The `Result` of every fit, in the order of the plan.
    """
    client = get_client() if client is None else client
    held = Source(V, None, None, False).data
    with LargeGraphs():
        whole = client.submit(same, held, pure=False)
    return [client.submit(_fit, whole, {"threads": threads, **each}, pure=False) for each in plan]


def _fit(held: Any, settings: dict[str, Any]) -> Result:
    if isinstance(held, File):
        V, _ = _pieces.whole(held)
        held = V
    return factorize_here(held.sides[0], **settings)


def __getattr__(name: str) -> Any:
    # The estimator needs scikit-learn.
    if name != "KLNMF":
        raise AttributeError(f"module 'klnmf.dask' has no attribute {name!r}")
    from klnmf._dask_nmf import KLNMF

    return KLNMF
