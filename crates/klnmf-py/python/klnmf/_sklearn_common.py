"""The common part of the estimators and the drop-in: scikit-learn, its checks, and warnings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from klnmf._choices import Init
from klnmf._data import parts
from klnmf._results import Result, Topics
from klnmf._warn import warn

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils import check_array, check_random_state
    from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data
except ImportError as missing:
    raise ImportError(
        "klnmf.KLNMF, klnmf.TopicModel and klnmf.sklearn need scikit-learn ≥ 1.6: pip install -U scikit-learn"
    ) from missing

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ConvergenceWarning",
    "TransformerMixin",
    "check_array",
    "check_factor",
    "check_is_fitted",
    "check_non_negative",
    "check_random_state",
    "check_start",
    "engine_init",
    "explained",
    "rank_of",
    "validate_data",
    "warn",
    "warn_of_ignored",
    "warn_of_limit",
    "warn_of_rows",
]

# scikit-learn has three names for this start. Here it leaves no zeros under any of them.
_INIT: dict[Any, Init] = {
    None: "random",
    "random": "random",
    "nndsvd": "nndsvd",
    "nndsvda": "nndsvd",
    "nndsvdar": "nndsvd",
}


def rank_of(X: Any, n_components: Any, given: int | None) -> int:
    """The number of components: as requested, of the given factors, or the number of features."""
    if n_components == "auto" and given is not None:
        return given
    if n_components is None or n_components == "auto":
        return X.shape[1]
    return parts("n_components", n_components, X.shape)


def check_start(X: Any, W: Any, H: Any, rank: int) -> tuple[NDArray, NDArray]:
    """W and H of a custom start, with scikit-learn's errors."""
    H = check_factor(H, (rank, X.shape[1]), "H")
    W = check_factor(W, (X.shape[0], rank), "W")
    if H.dtype != X.dtype or W.dtype != X.dtype:
        raise TypeError(
            f"H and W should have the same dtype as X. Got H.dtype = {H.dtype} and W.dtype = {W.dtype}."
        )
    return W, H


def check_factor(A: Any, shape: tuple[int, int], name: str) -> NDArray:
    """A factor of this shape, with scikit-learn's errors."""
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


def engine_init(init: Any) -> Init:
    """The engine's name of a start."""
    if init not in _INIT:
        raise ValueError(f"init = {init!r}: choose {', '.join(map(repr, _INIT))} or 'custom'")
    return _INIT[init]


def explained(X: Any, components: NDArray) -> tuple[Any, NDArray, NDArray[np.bool_]]:
    """X and the components without the features that X has and no component has; and the rows that have them.

    Their divergence is infinite whatever the weights, so they do not affect the best weights.
    """
    unknown = np.flatnonzero(components.sum(axis=0) == 0)
    meant = unknown[np.asarray(X[:, unknown].sum(axis=0)).ravel() > 0]
    if meant.size == 0:
        return X, components, np.zeros(X.shape[0], dtype=bool)
    warn(
        f"{meant.size} of {X.shape[1]} features occur in X but in no component (the first is column "
        f"{meant[0]}): they are left out; fit the components to data with these features",
        UserWarning,
    )
    kept = np.setdiff1d(np.arange(X.shape[1]), meant)
    return X[:, kept], components[:, kept], np.asarray(X[:, meant].sum(axis=1)).ravel() > 0


def warn_of_ignored(init: Any, W: Any, H: Any) -> None:
    """Warn that a given start is ignored, in scikit-learn's words."""
    if init != "custom" and (W is not None or H is not None):
        warn(
            "When init!='custom', provided W or H are ignored. Set  init='custom' to use them as "
            "initialization.",
            RuntimeWarning,
        )


def warn_of_limit(found: Result | Topics, max_iter: int, tol: float | None = None) -> None:
    """Warn that a factorisation ended before its tolerance."""
    if found.status == "iteration limit":
        text = f"Maximum number of iterations {max_iter} reached. Increase it to improve convergence."
    else:
        text = f"The fit ended before its tolerance: {found.status}."
    if tol is not None and isinstance(found, Result):
        text += f" The relative gap is {found.relative_gap:.1e}, tol is {tol:.1e}."
    warn(text, ConvergenceWarning)


def warn_of_rows(above: int, rows: int, tol: float) -> None:
    """Warn of the number of rows with a gap above the tolerance."""
    if above:
        warn(
            f"{above} of {rows} rows have a gap above the tolerance of {tol:.1e} times their sum: allow more "
            "iterations, or raise the tolerance",
            ConvergenceWarning,
        )
