"""The factorisation as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from klnmf._choices import SklearnInit, Solver
from klnmf._core import decompose, factorize, grow
from klnmf._data import count, number, turned
from klnmf._decomposer import Decomposer
from klnmf._estimator import Factors
from klnmf._results import Decomposition, Info, Result
from klnmf._sklearn_common import (
    check_is_fitted,
    check_start,
    engine_init,
    explained,
    rank_of,
    warn_of_ignored,
    warn_of_limit,
    warn_of_rows,
)


class KLNMF(Factors):
    """Non-negative matrix factorisation with the Kullback-Leibler divergence.

    X ≈ weights · components_, as in scikit-learn's `NMF(beta_loss='kullback-leibler')`, with faster
    methods. `fit` stops by a bound on what changing the weights alone or the components alone could still
    gain; another start may end lower. `transform` solves every row to its optimum.

    Parameters
    ----------
    n_components : int, 'auto' or None
        Number of components. By default the number given to `fit`, else the number of features.
    init : {'random', 'nndsvd', 'custom'} or None
        The start; None means 'random'. 'nndsvda' and 'nndsvdar' are other names of 'nndsvd', which leaves
        no zeros here. With 'custom', `fit_transform` takes W and H.
    solver : str
        The method; see `klnmf.factorize`.
    tol : float
        Tolerance relative to the divergence: stop when both single-factor gaps are at most `tol` times the
        divergence; see `klnmf.factorize`.
    max_iter : int
        Maximum number of iterations.
    transform_tol : float
        Tolerance relative to the sum of a row: `transform` stops when its optimality gap is at most this
        times the sum.
    transform_max_iter : int
        Maximum number of iterations of `transform` for a row.
    time_limit : float, optional
        Time limit of `fit` in seconds.
    n_init : int
        Number of starts, of which the best is kept. Most are stopped early: all take about twice the
        work of the first, and more than 2.5 times only if another turns out lower. A given start, and a
        warm one, is the only one.
    warm_start : bool
        Start `fit` from the components of the last one, and add new ones if `n_components` has increased.
        W and H given to `fit_transform` take precedence.
    forgetting : float
        Least weight of a new block in `partial_fit`, from 0 to 1; see `klnmf.Online`.
    random_state : int, RandomState or None
        Seed. An int has the same effect as in `klnmf.factorize` and the program.
    threads : int, optional
        Number of threads; one per core by default. The result does not depend on it.
    n_jobs : int, optional
        scikit-learn's name of `threads`: -1 means one per core, -2 one fewer.
    callback : callable, optional
        Receives a `klnmf.Info` every ten iterations of `fit`. Returning True stops it. There, W are the
        components and H the weights.
    progress : bool
        Show a bar (needs tqdm).

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Rows that are not zero sum to 1. The one with the largest share of the fit comes first, unless `init`
        or `warm_start` gives an order.
    reconstruction_err_ : float
        √(2·divergence), scikit-learn's measure.
    divergence_ : float
        D(X‖weights·components).
    gap_ : float
        The larger of the two single-factor gaps below, relative to the divergence.
    gap_components_, gap_weights_ : float
        Bounds on what changing the components alone, or the weights alone, could still gain.
    n_iter_ : int
        Number of iterations.
    trace_ : ndarray
        One record for every ten iterations, with the fields of `klnmf.Info` that are numbers.
    status_ : str
        Why `fit` ended.
    n_components_, n_features_in_ : int
    n_steps_ : int
        Number of blocks that `partial_fit` has learned from.
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from klnmf import KLNMF
    >>> X, _ = load_digits(return_X_y=True)
    >>> model = KLNMF(n_components=10, random_state=0).fit(X)
    >>> model.components_.shape, model.status_, bool(model.gap_ <= 3e-3)
    ((10, 64), 'converged', True)
    >>> model.transform(X[:3]).shape
    (3, 10)
    """

    divergence_: float
    reconstruction_err_: float
    gap_components_: float
    gap_weights_: float

    def __init__(
        self,
        n_components: int | Literal["auto"] | None = "auto",
        *,
        init: SklearnInit | None = None,
        solver: Solver = "auto",
        tol: float = 3e-3,
        max_iter: int = 2000,
        transform_tol: float = 1e-6,
        transform_max_iter: int = 5000,
        time_limit: float | None = None,
        n_init: int = 1,
        warm_start: bool = False,
        forgetting: float = 0.0,
        random_state: Any = None,
        threads: int | None = None,
        n_jobs: int | None = None,
        callback: Callable[[Info], Any] | None = None,
        progress: bool = False,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.transform_tol = transform_tol
        self.transform_max_iter = transform_max_iter
        self.time_limit = time_limit
        self.n_init = n_init
        self.warm_start = warm_start
        self.forgetting = forgetting
        self.random_state = random_state
        self.threads = threads
        self.n_jobs = n_jobs
        self.callback = callback
        self.progress = progress

    def fit_transform(
        self, X: Any, y: Any = None, W: ArrayLike | None = None, H: ArrayLike | None = None
    ) -> NDArray:
        """Learn the components of X and return its weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data. f32 and f64, C- and Fortran-ordered arrays, CSR and CSC are read in place.
        y : ignored
            Present for compatibility with scikit-learn.
        W : array-like of shape (n_samples, n_components), optional
            Weights to start from, with `init='custom'`.
        H : array-like of shape (n_components, n_features), optional
            Components to start from, with `init='custom'`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        before = self._before()
        X = self._validate(X, reset=True)
        start = self._start(X, W, H, before)
        with turned("X", "H", "W"):
            found = factorize(
                X.T,
                init=start,
                starts=count("n_init", self.n_init) if isinstance(start, str) else 1,
                rank=self._rank(X, H),
                solver=self.solver,
                tol=self.tol,
                max_iter=self.max_iter,
                time_limit=self.time_limit,
                seed=self._seed(),
                threads=self.threads,
                n_jobs=self.n_jobs,
                callback=self.callback,
                progress=self.progress,
            )
        self._keep(found)
        if self.tol > 0 and not found.converged:
            warn_of_limit(found, self.max_iter, self.tol)
        return found.H.T

    def partial_fit(self, X: Any, y: Any = None) -> KLNMF:
        """Learn from a block of samples, which is not kept.

        Blocks may come from one pass over the data or from several. After `fit`, its components are
        improved. `divergence_` and `gap_weights_` are then those of the block, for the components as they
        were before it. `klnmf.Online` does the same for blocks with new features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The block.
        y : ignored
            Present for compatibility with scikit-learn.

        Returns
        -------
        self
        """
        X = self._validate(X, reset=not hasattr(self, "components_"))
        rank = getattr(self, "n_components_", None) or rank_of(X, self.n_components, None)
        with turned("X", "H", "W"):
            found = self._learn(X, rank)
        self.divergence_, self.gap_weights_ = found.divergence, found.gap
        return self

    def transform(self, X: Any) -> NDArray:
        """Find the best weights of X for the components.

        Every row is solved until its optimality gap is within the tolerance. A warning counts the rows that
        do not get there.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        return self._decompose(X)[0].H.T.astype(X.dtype, copy=False)

    def decompose(self, X: Any) -> Decomposition:
        """As `transform`, with gaps: the weights are `H.T`, and `gaps` holds the optimality gap of every row.

        The divergence of a row is infinite if it has a feature that no component has. Its weights and its gap
        are those of its other features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.

        Returns
        -------
        Decomposition
        """
        check_is_fitted(self)
        found, beyond = self._decompose(self._validate(X, reset=False))
        divergences = np.where(beyond, np.inf, found.divergences)
        return replace(found, divergences=divergences, W=self.components_.T, **self._labels(X))

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the divergence of X per sample, with the best weights for the components: higher is better.

        The weights are those of `transform`, so they are fitted to X itself, and more components rarely score
        worse, even on samples that were held out. `klnmf.rank` chooses their number by counts that were held
        out instead.

        Features that X has and no component has are left out, with a warning, because their divergence is
        infinite. These are the features that the data of `fit` lacked, as a fold of a cross-validation can.
        Fits of the same data leave out the same features, so their scores can be compared.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.
        y : ignored
            Present for compatibility with scikit-learn.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return -float(self._decompose(self._validate(X, reset=False))[0].divergences.mean())

    def _decompose(self, X: Any) -> tuple[Decomposition, NDArray[np.bool_]]:
        """The weights for the features that components have, and the rows that have others."""
        limits: dict[str, Any] = {
            "tol": number("transform_tol", self.transform_tol),
            "max_iter": count("transform_max_iter", self.transform_max_iter),
            "progress": self.progress,
        }
        X, components, beyond = explained(X, self.components_)
        if components is self.components_:
            found = self._prepared(Decomposer).decompose(X.T, **limits)
        else:
            found = decompose(X.T, components.T, threads=self.threads, n_jobs=self.n_jobs, **limits)
        warn_of_rows(found.unconverged, len(found.gaps), self.transform_tol)
        return found, beyond

    def _rank(self, X: Any, H: Any) -> int:
        given = np.shape(H)[0] if self.init == "custom" and H is not None else None
        return rank_of(X, self.n_components, given)

    def _start(self, X: Any, W: Any, H: Any, before: NDArray | None) -> Any:
        """The start for `factorize`, where W are the components and H the weights."""
        rank = self._rank(X, H)
        warn_of_ignored(self.init, W, H)
        given = self.init == "custom" and (W is not None or H is not None)
        if not given and before is not None and before.shape[1] == X.shape[1] and before.shape[0] <= rank:
            return self._from_before(X, before.astype(X.dtype), rank)
        if self.init == "custom":
            W, H = check_start(X, W, H, rank)
            return H.T, W.T
        return engine_init(self.init)

    def _from_before(self, X: Any, components: NDArray, rank: int) -> tuple[NDArray, NDArray]:
        # A feature that no component had gets a little of each; otherwise X could not be explained.
        unknown = components.sum(axis=0) == 0
        components[:, unknown] = 1 / X.shape[1]
        weights = decompose(X.T, components.T, tol=1e-3, threads=self.threads, n_jobs=self.n_jobs).H
        return grow(components.T, weights, rank, seed=self._seed())

    def _keep(self, found: Result) -> None:
        self._forget(found.H.shape[1], found.H.sum(axis=1))
        self.components_ = found.W.T
        self.n_components_ = found.W.shape[1]
        self.divergence_ = found.divergence
        self.reconstruction_err_ = float(np.sqrt(2 * found.divergence))
        self.gap_ = found.relative_gap
        self.gap_components_ = found.gap_w
        self.gap_weights_ = found.gap_h
        self.n_iter_ = max(found.iterations, 1)
        self.trace_ = found.trace
        self.status_ = found.status
