"""scikit-learn's `non_negative_factorization` for the Kullback-Leibler divergence, computed by klnmf.

>>> import numpy as np
>>> from klnmf.sklearn import non_negative_factorization
>>> X = np.array([[1, 1], [2, 1], [3, 1.2], [4, 1], [5, 0.8], [6, 1]])
>>> W, H, n_iter = non_negative_factorization(X, n_components=2, init="random", random_state=0)
>>> bool(np.allclose(W @ H, X, atol=0.1))
True
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from klnmf._core import decompose, factorize
from klnmf._core import init as init_factors
from klnmf._data import number, turned
from klnmf._memory import check_memory
from klnmf._results import Info
from klnmf._sklearn_common import (
    check_array,
    check_factor,
    check_non_negative,
    check_random_state,
    check_start,
    engine_init,
    explained,
    rank_of,
    warn,
    warn_of_ignored,
    warn_of_limit,
    warn_of_rows,
)

__all__ = ["non_negative_factorization"]


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
    """Factor X ≈ WH, where X is samples × features, with scikit-learn's arguments and stopping rule.

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
        As in scikit-learn, None means 'nndsvda' if `n_components` is at most the smaller side of X, else
        'random'. 'random' gives exactly scikit-learn's start. The three 'nndsvd' give klnmf's, which leaves
        no zeros.
    update_H : bool
        Whether the components are updated. If not, the problem is convex, and W is its optimum to a relative
        gap of 1e-6.
    solver : {'mu'}
        scikit-learn's name of its method for this divergence. The method used is `auto`.
    beta_loss : {'kullback-leibler', 1}
        The only divergence here.
    tol : float
        Tolerance relative to the first value of √(2·divergence): stop when ten iterations decrease it by less
        than `tol` times that value, as in scikit-learn.
    max_iter : int
        Maximum number of iterations.
    alpha_W, alpha_H, l1_ratio : float
        Must be 0: there is no regularisation here.
    random_state : int, RandomState or None
        Seed of the start.
    verbose : int
        Print a line every ten iterations.
    shuffle : bool
        Ignored.

    Returns
    -------
    W : ndarray of shape (n_samples, n_components)
    H : ndarray of shape (n_components, n_features)
        Rows that are not zero sum to 1, unless they were fixed.
    n_iter : int
        Number of iterations.
    """
    _check_arguments(solver, beta_loss, alpha_W, alpha_H)
    X = check_array(X, accept_sparse=("csr", "csc"), dtype=[np.float64, np.float32])
    check_non_negative(X, "NMF (input X)")
    if not update_H:
        return _only_weights(X, W, H, n_components)
    warn_of_ignored(init, W, H)
    rule = _Rule(number("tol", tol), verbose)
    start = _start(X, W, H, n_components, init, random_state)
    # By default f32 rounds dense and sparse data differently, and sparse data take two steps at a time.
    alike: dict[str, Any] = {"inner": 1, "mixed": False}
    with turned("X", "H", "W"):
        found = factorize(X.T, init=start, tol=0.0, max_iter=max_iter, callback=rule, **alike)
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
    """The start for `factorize`, where W are the components and H the weights."""
    given = init == "custom" and H is not None
    rank = rank_of(X, n_components, np.shape(H)[0] if given else None)
    if init == "custom":
        W, H = check_start(X, W, H, rank)
        return H.T, W.T
    how = engine_init(init or ("nndsvda" if rank <= min(X.shape) else "random"))
    check_memory(X.T, rank, 0)
    if how == "random":
        return _random(X, rank, random_state)
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    return init_factors(X.T, rank, how=how, seed=seed)


def _random(X: Any, rank: int, random_state: Any) -> tuple[NDArray, NDArray]:
    """scikit-learn's random start, drawn in its order: components first, then weights."""
    rng = check_random_state(random_state)
    scale = np.sqrt(X.mean() / rank)
    draw = [rng.standard_normal(size=shape) for shape in ((rank, X.shape[1]), (X.shape[0], rank))]
    H, W = (np.abs(scale * part.astype(X.dtype)) for part in draw)
    return H.T, W.T


def _only_weights(X: Any, W: Any, H: Any, n_components: Any) -> tuple[NDArray, NDArray, int]:
    if W is not None:
        warn("When update_H=False, the provided initial W is not used.", RuntimeWarning)
    given = None if H is None else np.shape(H)[0]
    H = check_factor(H, (rank_of(X, n_components, given), X.shape[1]), "H")
    if H.dtype != X.dtype:
        raise TypeError(f"H should have the same dtype as X. Got H.dtype = {H.dtype}.")
    known, components, _ = explained(X, H)
    found = decompose(known.T, components.T)
    warn_of_rows(found.unconverged, len(found.gaps), 1e-6)
    return found.H.T, H, max(int(found.iterations.max()), 1)
