"""How many parts, and which of them can be trusted: many fits of one matrix, compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from klnmf import _klnmf
from klnmf._data import count, factor, matrix, maybe_number, number, parts
from klnmf._data import threads as thread_count
from klnmf._labels import Labels, Named, dictionary, labelled, matched

if TYPE_CHECKING:
    from distributed import Client

_WHOLE = ("rank", "fits", "unconverged")
_COLUMNS = (
    "rank",
    "divergence",
    "relative_gap",
    "fits",
    "unconverged",
    "held_out",
    "held_out_error",
    "held_out_over_dispersed",
    "held_out_over_dispersed_error",
    "cosine_mean",
    "cosine_least",
    "silhouette_mean",
    "silhouette_least",
)
TABLE = np.dtype([(name, "i8" if name in _WHOLE else "f8") for name in _COLUMNS])


class Match(NamedTuple):
    """A part of one model and the part of another that corresponds to it."""

    first: int
    """The number of the part in the first model, from 0."""
    second: int
    """The number of the part in the second model, from 0."""
    cosine: float
    """Their cosine, from 0 to 1."""
    first_part: Any = None
    """The label of the part in the first model, if it has one."""
    second_part: Any = None
    """The label of the part in the second model, if it has one."""


class Dispersion(NamedTuple):
    """How much counts vary around a fit."""

    rank: int
    """The rank of the fit."""
    phi: float
    """Pearson's χ² per degree of freedom: 1 for Poisson counts."""
    size: float
    """The size of the negative binomial distribution; infinite for Poisson counts."""


@dataclass(frozen=True, repr=False, eq=False)
class Ranks:
    """A comparison of ranks."""

    range: tuple[int, int] | None
    """The smallest rank that predicts held-out counts as well as the best one (within a standard error), and
    the best one; without counts, twice the largest rank with stable parts. None if there is none.
    """
    still_falling: bool
    """Whether the last rank predicts best, so that larger ones may predict better."""
    counts: bool
    """Whether V holds counts; nothing else can be held out."""
    dispersion: Dispersion | None
    """How much the counts vary, if some were held out."""
    stable: int | None
    """The largest rank with stable parts: mean silhouette ≥ 0.8, least ≥ 0.2."""
    table: NDArray
    """One record for every rank; what is not defined is not a number."""
    models: dict[int, tuple[NDArray, NDArray]]
    """The best W and H of every rank."""

    def __repr__(self) -> str:
        said = "still falling" if self.still_falling else f"range={self.range}"
        return f"Ranks({said}, stable={self.stable}, ranks={self.table['rank'].tolist()})"


@dataclass(frozen=True, repr=False, eq=False)
class Consensus(Named):
    """The parts that many fits have in common."""

    W: NDArray
    """The consensus parts, features × parts. Each sums to 1, and the one with the largest share comes first."""
    H: NDArray
    """Their weights, parts × samples."""
    divergence: float
    """D(V‖WH)."""
    gaps: NDArray
    """The optimality gap of every column, for these parts."""
    cosines: NDArray
    """The mean cosine between the members of each part; not a number if it has one member."""
    silhouettes: NDArray
    """The mean silhouette of the members of each part; not a number if it has one member or no other part."""
    members: list[list[tuple[int, int]]]
    """For each part, the number of the fit and of the part in it, for all members."""
    left_out: int
    """Parts that the density filter left out."""
    features: Labels = None
    """The labels of the rows of V, if it had any."""
    samples: Labels = None
    """The labels of the columns of V, if it had any."""
    parts: Labels = None
    """The labels of the parts, if they have any."""

    def __repr__(self) -> str:
        silhouettes = np.round(self.silhouettes, 2).tolist()
        return f"Consensus({self.W.shape[1]} parts, divergence={self.divergence:.6g}, silhouettes={silhouettes})"


def rank(
    V: Any,
    ranks: Iterable[int] = range(2, 21),
    *,
    replicates: int = 10,
    folds: int = 5,
    bootstrap: bool = False,
    starts: int = 1,
    seed: int = 0,
    tol: float = 1e-2,
    max_iter: int = 2000,
    folder: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    n_jobs: int | None = None,
    client: Client | None = None,
) -> Ranks:
    """Compare ranks: how many parts are there?

    Parameters
    ----------
    V : array-like, scipy.sparse matrix, data frame or AnnData of shape (features, samples)
        Non-negative. Counts are thinned into folds; other data are judged by stability alone.
    ranks : iterable of int
        The ranks to compare.
    replicates : int
        Fits of each rank, whose parts are compared.
    folds : int
        Folds of the counts: each is predicted from the others. 0 holds nothing out.
    bootstrap : bool
        Draw the counts of all but the first replicate again, instead of starting anew.
    starts : int
        Starts of each fit, of which the best is kept.
    seed : int
        Seed of all random numbers. The same seed gives the same bits on any number of threads.
    tol : float
        Tolerance of each fit; see `factorize`. What many fits have in common needs a less strict one than a
        single fit.
    max_iter : int
        Maximum number of iterations of each fit.
    folder : str or path, optional
        Keep every fit in a file there; the same call continues a run that was interrupted.
    threads : int, optional
        Number of threads; one per core by default.
    n_jobs : int, optional
        scikit-learn's name of `threads`: -1 means one per core, -2 one fewer.
    client : distributed.Client, optional
        Make every fit as a task of this Dask cluster, with one thread unless `threads` says otherwise.
        Workers hold all of V. The results are those of one process of the same instruction level.

    Returns
    -------
    Ranks
        The range, and a table with held-out divergence, stability and divergence of every rank.

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> random = np.random.default_rng(0)
    >>> V = random.poisson(random.dirichlet([0.3] * 30, 3).T @ random.gamma(1, 500, (3, 60)))
    >>> klnmf.rank(V, range(1, 6), replicates=3).range
    (3, 3)
    """
    V = matrix(labelled(V).matrix, np.float64)
    if not isinstance(ranks, Iterable):
        raise TypeError(f"ranks = {ranks!r}: give the ranks to compare, such as range(2, 11)")
    ranks = [parts("ranks", each, V.shape) for each in ranks]
    given = ranks, count("replicates", replicates), count("folds", folds), bool(bootstrap)
    how = _with(seed, starts, tol, max_iter, folder, thread_count(threads, n_jobs))
    found = _compared(_klnmf.rank, V, given, how, client)
    limits, falling, counts, dispersion, stable, rows, models = found
    table = np.array([(*row[:5], *row[5]) for row in rows], TABLE)
    dispersion = None if dispersion is None else Dispersion(*dispersion)
    models = dict(zip(table["rank"].tolist(), models, strict=True))
    return Ranks(limits, falling, counts, dispersion, stable, table, models)


def consensus(
    V: Any,
    rank: int,
    *,
    replicates: int = 100,
    bootstrap: bool = False,
    density: float | None = None,
    sweeps: int = 0,
    starts: int = 1,
    seed: int = 0,
    tol: float = 1e-2,
    max_iter: int = 2000,
    folder: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    n_jobs: int | None = None,
    client: Client | None = None,
) -> Consensus:
    """Join the parts of many fits of one rank.

    The parts of all fits are matched one to one. A consensus part is the median of its cluster; its weights
    have an optimality gap for every column.

    Parameters
    ----------
    V : array-like, scipy.sparse matrix, data frame or AnnData of shape (features, samples)
        Non-negative.
    rank : int
        Number of parts.
    replicates : int
        Number of fits.
    bootstrap : bool
        Draw the counts of all but the first fit again, instead of starting anew.
    density : float, optional
        Leave out parts whose mean distance to their nearest neighbours is larger, as cNMF does.
    sweeps : int
        Iterations on parts and weights at the end; 0 leaves the medians as they are.
    starts : int
        Starts of each fit, of which the best is kept.
    seed : int
        Seed of all random numbers. The same seed gives the same bits on any number of threads.
    tol : float
        Tolerance of each fit; see `factorize`. What many fits have in common needs a less strict one than a
        single fit.
    max_iter : int
        Maximum number of iterations of each fit.
    folder : str or path, optional
        Keep every fit in a file there; the same call continues a run that was interrupted.
    threads : int, optional
        Number of threads; one per core by default.
    n_jobs : int, optional
        scikit-learn's name of `threads`: -1 means one per core, -2 one fewer.
    client : distributed.Client, optional
        Make every fit as a task of this Dask cluster, with one thread unless `threads` says otherwise.
        Workers hold all of V. The results are those of one process of the same instruction level.

    Returns
    -------
    Consensus

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> random = np.random.default_rng(0)
    >>> V = random.poisson(random.dirichlet([0.3] * 30, 3).T @ random.gamma(1, 500, (3, 60)))
    >>> found = klnmf.consensus(V, 3, replicates=5)
    >>> found.W.shape, bool(found.silhouettes.min() > 0.9)
    ((30, 3), True)
    """
    V, features, samples = labelled(V)
    V = matrix(V, np.float64)
    given = parts("rank", rank, V.shape), count("replicates", replicates), bool(bootstrap)
    given += maybe_number("density", density), count("sweeps", sweeps)
    how = _with(seed, starts, tol, max_iter, folder, thread_count(threads, n_jobs))
    found = _compared(_klnmf.consensus, V, given, how, client)
    W, H, divergence, gaps, cosines, silhouettes, members, left_out = found
    arrays = map(np.array, (gaps, cosines, silhouettes))
    return Consensus(W, H, divergence, *arrays, members, left_out, features, samples)


def match(A: ArrayLike, B: ArrayLike) -> list[Match]:
    """Find which part of one model corresponds to which part of another.

    The pairs are one to one, with the largest sum of cosines. If one model has more parts, some of them have
    no partner. Features are matched by label if both models have labels, else by position.

    Parameters
    ----------
    A : array-like or data frame of shape (features, parts), or a model
        The parts of the first model.
    B : array-like or data frame of shape (features, parts), or a model
        The parts of the second model.

    Returns
    -------
    list of Match
        In the order of the parts of A, with the labels of parts that have labels.

    Examples
    --------
    >>> import klnmf
    >>> [pair[:2] for pair in klnmf.match([[1.0, 0.0], [0.0, 1.0]], [[0.1, 2.0], [3.0, 0.0]])]
    [(0, 1), (1, 0)]
    """
    known = dictionary(A)
    other = matched(known.rows, dictionary(B), 0, "A", "B", warns=True)
    first, second = factor("A", known.matrix, np.float64), factor("B", other.matrix, np.float64)
    ours, theirs = known.columns, other.columns
    return [
        Match(a, b, cosine, None if ours is None else ours[a], None if theirs is None else theirs[b])
        for a, b, cosine in _klnmf.match_parts(first, second)
    ]


def _compared(function: Callable[..., Any], V: Any, given: tuple, how: tuple, client: Client | None) -> Any:
    """What a function of the native module finds with fits that are made here, or on a cluster."""
    if client is None:
        return function(V, *given, (*how, False))
    from klnmf._dask_fits import on_cluster

    return on_cluster(client, V, how, lambda how: function(V, *given, how))


def _with(seed: Any, starts: Any, tol: Any, max_iter: Any, folder: Any, threads: int) -> tuple:
    """The settings of every fit, but for where they are made."""
    where = None if folder is None else os.fspath(folder)
    limits = count("starts", starts, 1), number("tol", tol), count("max_iter", max_iter)
    if where is not None:
        os.makedirs(where, exist_ok=True)
    return (count("seed", seed), *limits, threads, where)
