"""Factorisations of AnnData objects, stored as scanpy does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from klnmf._core import factorize
from klnmf._data import count, parts, turned

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
    random_state: int | None = None,
    **options: Any,
) -> AnnData | None:
    """Factor the counts of cells into gene programmes.

    Parameters
    ----------
    adata : AnnData
        Cells × genes: counts or other non-negative numbers.
    n_components : int
        Number of programmes.
    layer : str, optional
        The layer with the counts; `X` by default.
    mask_var : str, array of bool or None
        Which genes to use: a column of `var`, or a mask with True or False for every gene. By default
        'highly_variable' if that column exists, as in `scanpy.pp.pca`; None for all.
    key_added : str, optional
        Name of the results in `obsm`, `varm` and `uns`; by default 'X_nmf', 'nmf' and 'nmf'.
    copy : bool
        Return a copy instead of changing `adata`.
    random_state : int, optional
        Another name for `seed`, as in scanpy.
    **options
        Passed to `klnmf.factorize`: `seed`, `tol`, `max_iter`, `progress`, …

    Returns
    -------
    AnnData or None
        The copy if `copy` is set. `obsm['X_nmf']` holds the usage of each programme by each cell (cells ×
        programmes). `varm['nmf']` holds the programmes (genes × programmes; columns sum to 1; 0 for genes
        that are not used). `uns['nmf']` holds the divergence, the gaps and the parameters.

    Examples
    --------
    >>> import anndata, numpy as np, klnmf
    >>> counts = np.random.default_rng(0).poisson(1.0, (50, 30)).astype(np.float32)
    >>> adata = anndata.AnnData(counts)
    >>> klnmf.scanpy.nmf(adata, n_components=3)
    >>> adata.obsm["X_nmf"].shape, adata.varm["nmf"].shape, adata.uns["nmf"]["status"]
    ((50, 3), (30, 3), 'converged')
    """
    if adata.isbacked:
        raise ValueError("adata is backed by a file: give adata.to_memory()")
    if random_state is not None:
        if "seed" in options:
            raise TypeError("seed and random_state are two names of the same option: give one")
        options["seed"] = count("random_state", random_state)
    if layer is not None and layer not in adata.layers:
        known = ", ".join(map(repr, adata.layers)) or "no layers"
        raise ValueError(f"layer = {layer!r}: adata has {known}; name one, or leave it out to use adata.X")
    adata = adata.copy() if copy else adata
    X = adata.X if layer is None else adata.layers[layer]
    if X is None:
        raise ValueError("adata.X is None: name the layer with the counts")
    mask = _mask(adata, mask_var)
    genes = np.arange(adata.n_vars) if mask is None else np.flatnonzero(mask)
    n_components = parts("n_components", n_components, (len(adata), len(genes)))
    with turned(f"layers[{layer!r}]" if layer else "X", "programmes", "usage", genes):
        found = factorize((X if mask is None else X[:, mask]).T, n_components, **options)

    programmes = np.zeros((adata.n_vars, n_components), dtype=found.W.dtype)
    programmes[genes] = found.W
    usage_key, other_key = (key_added, key_added) if key_added else ("X_nmf", "nmf")
    adata.obsm[usage_key] = np.ascontiguousarray(found.H.T)
    adata.varm[other_key] = programmes
    adata.uns[other_key] = {
        "params": {
            "n_components": n_components,
            "layer": layer or "",
            "mask_var": mask_var if isinstance(mask_var, str) and mask is not None else "",
            **_plain(options),
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
    name = "mask_var"
    if isinstance(mask_var, str):
        if mask_var not in adata.var:
            if mask_var == "highly_variable":
                return None
            raise ValueError(f"mask_var = {mask_var!r}: adata.var has no such column; name another, or None")
        name, mask_var = f"mask_var = {mask_var!r}", adata.var[mask_var]
    mask = np.asarray(mask_var)
    if mask.shape != (adata.n_vars,):
        raise ValueError(
            f"{name} has the shape {mask.shape}: give True or False for {adata.n_vars} genes"
        )
    wrong = [i for i, used in enumerate(mask.tolist()) if not isinstance(used, (bool, np.bool_))]
    if wrong:
        raise ValueError(
            f"{name} is {mask[wrong[0]]!r} for gene {wrong[0]} (counting from 0): give True or False"
        )
    return mask.astype(bool)


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """The options that an .h5ad file can hold."""
    values = {
        name: value.item() if isinstance(value, np.generic) else value for name, value in options.items()
    }
    return {name: value for name, value in values.items() if isinstance(value, (bool, int, float, str))}
