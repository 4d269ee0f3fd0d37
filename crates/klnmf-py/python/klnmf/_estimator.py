"""The common part of the estimators: scikit-learn's interface, where X is samples × features."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from klnmf._data import count
from klnmf._data import threads as thread_count
from klnmf._decomposer import Prepared
from klnmf._labels import is_a, row_labels
from klnmf._online import Online
from klnmf._results import Decomposition
from klnmf._sklearn_common import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    check_is_fitted,
    check_random_state,
    validate_data,
)

if TYPE_CHECKING:
    from typing_extensions import Self

P = TypeVar("P", bound=Prepared)

# The prepared components of every estimator that has called `transform`. They are not attributes, because
# `transform` must not change those, and pickles and clones must not hold threads.
_PREPARED: WeakKeyDictionary[Factors, Prepared] = WeakKeyDictionary()


class Factors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """An estimator that holds components."""

    components_: NDArray
    gap_: float
    n_components_: int
    n_features_in_: int
    feature_names_in_: NDArray
    n_iter_: int
    n_steps_: int
    trace_: NDArray
    status_: str

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Learn the components of X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data.
        y : ignored
            Present for compatibility with scikit-learn.
        **params
            Passed to `fit_transform`.

        Returns
        -------
        self
        """
        self.fit_transform(X, **params)
        return self

    def _learn(self, X: Any, rank: int) -> Decomposition:
        """Learn from a block of samples, and return its weights for the components as they were."""
        online = getattr(self, "_online", None)
        if online is None:
            fitted = getattr(self, "_fitted", None)
            online = Online(rank, forgetting=self.forgetting, seed=self._seed(), **self._threads())
            if fitted is not None:
                online._restore(_after(self.components_, *fitted, X.shape[0]), online._settings, None)
        found = online.push(X.T)
        _PREPARED.pop(self, None)
        # Those of a fit describe other components.
        for name in ("gap_", "gap_components_", "n_iter_", "trace_", "status_", "reconstruction_err_"):
            self.__dict__.pop(name, None)
        self._online, self._fitted = online, None
        self.components_ = np.ascontiguousarray(online.W.T, dtype=X.dtype)
        self.n_components_, self.n_steps_ = rank, online.blocks
        return found

    def _forget(self, samples: int, shares: NDArray) -> None:
        """A fit begins anew. Later blocks continue from its components, with their shares of the data."""
        self._online, self._fitted = None, (samples, np.asarray(shares, dtype=np.float64))
        self.__dict__.pop("n_steps_", None)

    def _threads(self) -> dict[str, Any]:
        return {"threads": self.threads, "n_jobs": self.n_jobs}

    def inverse_transform(self, X: Any) -> Any:
        """Compute data from weights: their product with the components.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_components)
            Weights.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return X @ self.components_

    def _validate(self, X: Any, *, reset: bool) -> Any:
        if reset:
            # New components will follow.
            _PREPARED.pop(self, None)
        if is_a(X, "anndata", "AnnData"):
            raise TypeError("X is an AnnData object: give its matrix, adata.X, or use klnmf.scanpy.nmf")
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            ensure_non_negative=True,
        )

    def _prepared(self, make: Callable[[NDArray, int], P]) -> P:
        """The object that `make` prepares from the components; reused if they have not changed."""
        W, threads = self.components_.T, thread_count(self.threads, self.n_jobs)
        found: Any = _PREPARED.get(self)
        if found is None or type(found) is not make or not found._is_of(W, threads):
            # The old one is dropped first, so that there are never two.
            _PREPARED.pop(self, None)
            found = _PREPARED[self] = make(W, threads)
        return found

    def _labels(self, X: Any) -> dict[str, Any]:
        """The labels of the features and samples of a result."""
        return {"features": getattr(self, "feature_names_in_", None), "samples": row_labels(X)}

    def _seed(self) -> int:
        """The seed. An int is used as it is, as in the program and the functions."""
        if isinstance(self.random_state, Integral):
            return count("random_state", self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _before(self) -> NDArray | None:
        """The components of the last fit, if `warm_start` is set."""
        return getattr(self, "components_", None) if self.warm_start else None

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _after(components: NDArray, samples: int, shares: NDArray, block: int) -> tuple[int, NDArray, NDArray]:
    """The state of a stream after a fit, which counts as so many blocks of the size of the next one."""
    parts = np.asarray(components, dtype=np.float64) * (shares / max(shares.sum(), 1e-300))[:, None]
    return max(samples // block, 1), np.asfortranarray(parts), parts.sum(axis=0)
