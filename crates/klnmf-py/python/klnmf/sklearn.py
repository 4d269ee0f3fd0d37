"""scikit-learn's `non_negative_factorization` for the Kullback-Leibler divergence, on this engine.

>>> import numpy as np
>>> from klnmf.sklearn import non_negative_factorization
>>> X = np.array([[1, 1], [2, 1], [3, 1.2], [4, 1], [5, 0.8], [6, 1]])
>>> W, H, n_iter = non_negative_factorization(X, n_components=2, init="random", random_state=0)
>>> bool(np.allclose(W @ H, X, atol=0.1))
True
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_non_negative

from klnmf._core import decompose, factorize
from klnmf._core import init as init_factors
from klnmf._results import Info, Result

__all__ = ["non_negative_factorization"]

# The start that scikit-learn spreads over three names leaves no zeros here under any of them.
_INIT = {
    None: "random",
    "random": "random",
    "nndsvd": "nndsvd",
    "nndsvda": "nndsvd",
    "nndsvdar": "nndsvd",
}


def non_negative_factorization(
    X: Any,
    W: ArrayLike | None = None,
    H: ArrayLike | None = None,
    n_components: int | str | None = "auto",
    *,
    init: str | None = None,
    update_H: bool = True,
    solver: str = "mu",
    beta_loss: str | float = "kullback-leibler",
    tol: float = 1e-4,
    max_iter: int = 200,
    alpha_W: float = 0.0,
    alpha_H: float | str = "same",
    l1_ratio: float = 0.0,
    random_state: Any = None,
    verbose: int = 0,
    shuffle: bool = False,
) -> tuple[NDArray, NDArray, int]:
    """Factor X ≈ WH, X being samples × features, with scikit-learn's arguments and stopping rule.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data.
    W : array-like of shape (n_samples, n_components), optional
        Weights to start from, with `init='custom'`.
    H : array-like of shape (n_components, n_features), optional
        Components to start from, with `init='custom'`; the components, with `update_H=False`.
    n_components : int, 'auto' or None
        By default taken from W and H, else the number of features.
    init : {'random', 'nndsvd', 'nndsvda', 'nndsvdar', 'custom'} or None
        'random', and None, is scikit-learn's own start, number for number; the three 'nndsvd' are this
        engine's, which leaves no zeros.
    update_H : bool
        Whether the components move. If not, the problem is convex, and W is its certified optimum.
    solver : {'mu'}
        scikit-learn's name for its method for this divergence. The one used is `auto`.
    beta_loss : {'kullback-leibler', 1}
        No other.
    tol : float
        Stop when ten accesses lower √(2·divergence) by less than `tol` times its first value, as in
        scikit-learn.
    max_iter : int
        The most accesses to the data.
    alpha_W, alpha_H, l1_ratio : float
        Must ask for no regularisation.
    random_state : int, RandomState or None
        Of the start.
    verbose : int
        Print a line every ten accesses.
    shuffle : bool
        Ignored.

    Returns
    -------
    W : ndarray of shape (n_samples, n_components)
    H : ndarray of shape (n_components, n_features)
        Rows that are not zero sum to 1, unless they were fixed.
    n_iter : int
        Accesses to the data.
    """
    _check_arguments(solver, beta_loss, alpha_W, alpha_H)
    X = check_array(X, accept_sparse=("csr", "csc"), dtype=[np.float64, np.float32])
    check_non_negative(X, "NMF (input X)")
    if not update_H:
        return _only_weights(X, W, H, n_components)
    if init != "custom" and (W is not None or H is not None):
        warnings.warn(
            "When init!='custom', provided W or H are ignored. Set  init='custom' to use them as "
            "initialization.",
            RuntimeWarning,
            stacklevel=2,
        )
    rule = _Rule(tol, verbose)
    start = _start(X, W, H, n_components, init, random_state)
    found = factorize(X.T, init=start, tol=0.0, max_iter=max_iter, callback=rule)
    if tol > 0 and not rule.met:
        warn_of_limit(found, max_iter)
    return found.H.T, found.W.T, max(found.iterations, 1)


class _Rule:
    """scikit-learn's stopping rule, as a callback."""

    def __init__(self, tol: float, verbose: int) -> None:
        self.tol, self.verbose = tol, verbose
        self.first = self.last = None
        self.met = False

    def __call__(self, info: Info) -> bool:
        error = np.sqrt(2 * info.divergence)
        if self.verbose and info.iteration:
            print(f"Epoch {info.iteration:02d} reached after {info.seconds:.3f} seconds, error: {error:f}")
        if self.first is None:
            self.first = error
        elif info.iteration % 10 == 0 and self.tol > 0:
            self.met = self.last - error <= self.tol * self.first
        if info.iteration % 10 == 0:
            self.last = error
        return self.met


def _check_arguments(solver: str, beta_loss: Any, alpha_W: Any, alpha_H: Any) -> None:
    if beta_loss not in ("kullback-leibler", 1):
        raise ValueError(
            f"beta_loss = {beta_loss!r}: only 'kullback-leibler' is possible here; for others import the "
            "function from sklearn.decomposition"
        )
    if solver != "mu":
        raise ValueError(
            f"Invalid beta_loss parameter: solver {solver!r} does not handle beta_loss = {beta_loss!r}"
        )
    if alpha_W != 0 or alpha_H not in (0, "same"):
        raise ValueError(
            f"alpha_W = {alpha_W!r}, alpha_H = {alpha_H!r}: there is no regularisation here, both must be 0"
        )


def _start(X: Any, W: Any, H: Any, n_components: Any, init: Any, random_state: Any) -> Any:
    """How the engine is to begin. There W are the components and H the weights."""
    given = init == "custom" and H is not None
    rank = rank_of(X, n_components, np.shape(H)[0] if given else None)
    if init == "custom":
        W, H = check_start(X, W, H, rank)
        return H.T, W.T
    how = engine_init(init)
    if how == "random":
        return _random(X, rank, random_state)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return init_factors(X.T, rank, how=how, seed=seed)


def rank_of(X: Any, n_components: Any, given: int | None) -> int:
    """The number of components asked for, of those given, or of the features."""
    if n_components == "auto" and given is not None:
        return given
    return X.shape[1] if n_components in ("auto", None) else n_components


def _random(X: Any, rank: int, random_state: Any) -> tuple[NDArray, NDArray]:
    """scikit-learn's random start, in its order: components first, then weights."""
    rng = check_random_state(random_state)
    scale = np.sqrt(X.mean() / rank)
    draw = [rng.standard_normal(size=shape) for shape in ((rank, X.shape[1]), (X.shape[0], rank))]
    H, W = (np.abs(scale * part.astype(X.dtype)) for part in draw)
    return H.T, W.T


def _only_weights(X: Any, W: Any, H: Any, n_components: Any) -> tuple[NDArray, NDArray, int]:
    if W is not None:
        warnings.warn(
            "When update_H=False, the provided initial W is not used.", RuntimeWarning, stacklevel=3
        )
    given = None if H is None else np.shape(H)[0]
    H = _check_factor(H, (rank_of(X, n_components, given), X.shape[1]), "H")
    if H.dtype != X.dtype:
        raise TypeError(f"H should have the same dtype as X. Got H.dtype = {H.dtype}.")
    known, components, _ = explained(X, H)
    found = decompose(known.T, components.T)
    warn_of_rows(found.unconverged, len(found.gaps), 1e-6)
    return found.H.T, H, max(int(found.iterations.max()), 1)


def check_start(X: Any, W: Any, H: Any, rank: int) -> tuple[NDArray, NDArray]:
    """W and H of a custom start, with scikit-learn's errors."""
    H = _check_factor(H, (rank, X.shape[1]), "H")
    W = _check_factor(W, (X.shape[0], rank), "W")
    if H.dtype != X.dtype or W.dtype != X.dtype:
        raise TypeError(
            f"H and W should have the same dtype as X. Got H.dtype = {H.dtype} and W.dtype = {W.dtype}."
        )
    return W, H


def _check_factor(A: Any, shape: tuple[int, int], name: str) -> NDArray:
    whom = f"NMF (input {name})"
    A = check_array(A)
    for which, wanted, has in zip(("first", "second"), shape, A.shape, strict=True):
        if wanted != has:
            raise ValueError(
                f"Array with wrong {which} dimension passed to {whom}. Expected {wanted}, but got {has}."
            )
    check_non_negative(A, whom)
    if A.max() == 0:
        raise ValueError(f"Array passed to {whom} is full of zeros.")
    return A


def engine_init(init: Any) -> str:
    """The engine's name of a start."""
    if init not in _INIT:
        raise ValueError(f"init = {init!r}: choose {', '.join(map(repr, _INIT))} or 'custom'")
    return _INIT[init]


def explained(X: Any, components: NDArray) -> tuple[Any, NDArray, NDArray[np.bool_]]:
    """X and the components without the features that X has and no component knows; which rows have them.

    Their share of the divergence is infinite whatever the weights, so they say nothing about them.
    """
    unknown = np.flatnonzero(components.sum(axis=0) == 0)
    meant = unknown[np.asarray(X[:, unknown].sum(axis=0)).ravel() > 0]
    if meant.size == 0:
        return X, components, np.zeros(X.shape[0], dtype=bool)
    warnings.warn(
        f"{meant.size} of {X.shape[1]} features occur in X but in no component (the first is column "
        f"{meant[0]}): the weights are found without them",
        UserWarning,
        stacklevel=4,
    )
    kept = np.setdiff1d(np.arange(X.shape[1]), meant)
    return X[:, kept], components[:, kept], np.asarray(X[:, meant].sum(axis=1)).ravel() > 0


def warn_of_limit(found: Result, max_iter: int, tol: float | None = None) -> None:
    """Says that a factorisation ended before its tolerance."""
    if found.status == "iteration limit":
        text = f"Maximum number of iterations {max_iter} reached. Increase it to improve convergence."
    else:
        text = f"The fit ended before its tolerance: {found.status}."
    if tol is not None:
        text += f" The relative gap is {found.relative_gap:.1e}, tol is {tol:.1e}."
    warnings.warn(text, ConvergenceWarning, stacklevel=3)


def warn_of_rows(above: int, rows: int, tol: float) -> None:
    """Says how many rows have a gap above the tolerance."""
    if above:
        warnings.warn(
            f"{above} of {rows} rows have a gap above the tolerance of {tol:.1e} times their sum: their "
            "weights may be improved with more iterations",
            ConvergenceWarning,
            stacklevel=4,
        )
