"""The factorisation on a Dask cluster as an estimator, with the conventions of dask-ml."""

from __future__ import annotations

from typing import Any

import numpy as np

from klnmf import dask as on_dask
from klnmf._nmf import KLNMF as Local
from klnmf._sklearn_common import check_is_fitted, rank_of, warn_of_limit


class KLNMF(Local):
    """Non-negative matrix factorisation of dask arrays with the Kullback-Leibler divergence.

    Like `klnmf.KLNMF`, with the work on the workers of the current client. `fit` takes a dask array of
    samples × features with dense or sparse chunks, and `components_` is a numpy array. `transform` of a dask
    array is a dask array with the same chunks of samples, which is computed later. Arrays in memory are
    transformed here. Of `init`, only 'random' is possible, `warm_start`, `n_init` and `n_jobs` have no
    effect, and `threads` are those of one task.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from klnmf.dask import KLNMF
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     X = da.random.default_rng(0).poisson(3.0, size=(200, 30), chunks=(50, 30))
    ...     model = KLNMF(n_components=3, random_state=0).fit(X)
    ...     weights = model.transform(X)
    ...     print(model.components_.shape, weights.compute().shape)
    (3, 30) (200, 3)
    """

    def fit(self, X: Any, y: Any = None) -> KLNMF:
        """Learn the components of X.

        Parameters
        ----------
        X : dask array, array-like or sparse matrix of shape (n_samples, n_features)
            The data.
        y : ignored
            Present for compatibility with scikit-learn.

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn the components of X and return its weights.

        Parameters
        ----------
        X : dask array, array-like or sparse matrix of shape (n_samples, n_features)
            The data.
        y : ignored
            Present for compatibility with scikit-learn.

        Returns
        -------
        dask array or ndarray of shape (n_samples, n_components)
        """
        weights = self._fit(X).H.T
        if not hasattr(X, "chunks"):
            return weights
        import dask.array as da

        return da.from_array(weights, chunks=(X.chunks[0], -1))

    def transform(self, X: Any) -> Any:
        """Find the best weights of X for the components.

        Parameters
        ----------
        X : dask array, array-like or sparse matrix of shape (n_samples, n_features)
            The data. A dask array must have one chunk of features.

        Returns
        -------
        dask array or ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        if not hasattr(X, "chunks"):
            return super().transform(X)
        if X.shape[1] != self.n_features_in_ or len(X.chunks[1]) != 1:
            raise ValueError(
                f"X has {X.shape[1]} features in {len(X.chunks[1])} chunks: {self.n_features_in_} in one "
                "chunk are needed; rechunk X"
            )
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        here = Local(transform_tol=self.transform_tol, transform_max_iter=self.transform_max_iter, threads=1)
        here.components_, here.n_features_in_ = self.components_, self.n_features_in_
        chunks = (X.chunks[0], (self.n_components_,))
        return X.map_blocks(_weights, here, dtype=dtype, chunks=chunks, meta=np.empty((0, 0), dtype))

    def _fit(self, X: Any) -> Any:
        found = on_dask.factorize(
            X,
            rank_of(X, self.n_components, None),
            transpose=True,
            init="random" if self.init is None else self.init,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            time_limit=self.time_limit,
            seed=self._seed(),
            threads=self.threads or 1,
            callback=self.callback,
            progress=self.progress,
        )
        self.n_features_in_ = X.shape[1]
        self._keep(found)
        if self.tol > 0 and not found.converged:
            warn_of_limit(found, self.max_iter, self.tol)
        return found


def _weights(block: Any, model: Local) -> Any:
    return model.transform(block)
