"""Factorisations of AnnData objects, stored where users of scanpy look for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klnmf._core import factorize

if TYPE_CHECKING:
    from anndata import AnnData

__all__ = ["nmf"]


def nmf(
    adata: AnnData,
    n_components: int = 20,
    *,
    layer: str | None = None,
    mask_var: str | NDArray | None = "highly_variable",
    key_added: str | None = None,
    copy: bool = False,
    **options: Any,
) -> AnnData | None:
    """Factor the counts of cells into gene programmes.

    Parameters
    ----------
    adata : AnnData
        Cells × genes, counts or anything else that is not negative.
    n_components : int
        How many programmes.
    layer : str, optional
        The layer with the counts; `X` by default.
    mask_var : str, array of bool or None
        Which genes to use: a column of `var`, or a mask. By default 'highly_variable' if there is such a
        column, as in `scanpy.pp.pca`; None for all.
    key_added : str, optional
        The name of the results in `obsm`, `varm` and `uns`.
    copy : bool
        Return a copy instead of changing `adata`.
    **options
        For `klnmf.factorize`: `seed`, `tol`, `max_iter`, `progress`, …

    Returns
    -------
    AnnData or None
        In `obsm['X_nmf']` the usage of each programme by each cell (cells × programmes), in
        `varm['nmf']` the programmes (genes × programmes, columns sum to 1, 0 for genes not used), in
        `uns['nmf']` the certificate and the parameters.

    Examples
    --------
    >>> import anndata, numpy as np, klnmf
    >>> counts = np.random.default_rng(0).poisson(1.0, (50, 30)).astype(np.float32)
    >>> adata = anndata.AnnData(counts)
    >>> klnmf.scanpy.nmf(adata, n_components=3)
    >>> adata.obsm["X_nmf"].shape, adata.varm["nmf"].shape, adata.uns["nmf"]["status"]
    ((50, 3), (30, 3), 'converged')
    """
    adata = adata.copy() if copy else adata
    X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        raise ValueError("adata.X is empty: name the layer with the counts")
    mask = _mask(adata, mask_var)
    found = factorize((X if mask is None else X[:, mask]).T, n_components, **options)

    programmes = found.W
    if mask is not None:
        programmes = np.zeros((adata.n_vars, n_components), dtype=found.W.dtype)
        programmes[mask] = found.W
    usage_key, other_key = (key_added, key_added) if key_added else ("X_nmf", "nmf")
    adata.obsm[usage_key] = np.ascontiguousarray(found.H.T)
    adata.varm[other_key] = np.ascontiguousarray(programmes)
    adata.uns[other_key] = {
        "params": {
            "n_components": n_components,
            "layer": layer or "",
            "mask_var": mask_var if isinstance(mask_var, str) and mask is not None else "",
            **{name: value for name, value in options.items() if _plain(value)},
        },
        "divergence": found.divergence,
        "gap_programmes": found.gap_w,
        "gap_usage": found.gap_h,
        "relative_gap": found.relative_gap,
        "iterations": found.iterations,
        "status": found.status,
    }
    return adata if copy else None


def _mask(adata: AnnData, mask_var: Any) -> NDArray | None:
    if mask_var is None:
        return None
    if not isinstance(mask_var, str):
        return np.asarray(mask_var, dtype=bool)
    if mask_var in adata.var:
        return adata.var[mask_var].to_numpy(dtype=bool)
    if mask_var == "highly_variable":
        return None
    raise ValueError(f"mask_var = {mask_var!r}: adata.var has no such column")


def _plain(value: Any) -> bool:
    """What an .h5ad file can hold."""
    return isinstance(value, (bool, int, float, str))
