"""Cells: gene programmes from counts in an AnnData."""

# %% Counts with four programmes, sparse and in single precision, as from a pipeline.
import anndata
import klnmf
import numpy as np
import pandas as pd
import scipy.sparse as sp

rng = np.random.default_rng(0)
programmes = rng.dirichlet(np.full(300, 0.05), 4)
usage = rng.dirichlet(np.full(4, 0.3), 500) * rng.lognormal(6, 0.5, (500, 1))
adata = anndata.AnnData(
    sp.csr_matrix(rng.poisson(usage @ programmes).astype(np.float32)),
    obs=pd.DataFrame(index=[f"cell{i}" for i in range(500)]),
    var=pd.DataFrame(index=[f"gene{i}" for i in range(300)]),
)

# %% The counts stay sparse and are not normalised or log-transformed: the divergence is made for counts.
klnmf.scanpy.nmf(adata, n_components=4, seed=0)
print(adata)
print({key: adata.uns["nmf"][key] for key in ("divergence", "relative_gap", "status")})

# %% It finds the true programmes.
found = adata.varm["nmf"] / np.linalg.norm(adata.varm["nmf"], axis=0)
truth = programmes.T / np.linalg.norm(programmes.T, axis=0)
print("cosines with the truth:", (truth.T @ found).max(axis=1).round(3))

# %% The same with cNMF's call: change its import to this one.
from klnmf.sklearn import non_negative_factorization  # noqa: E402

usages, spectra, iterations = non_negative_factorization(
    adata.X, n_components=4, init="random", solver="mu", beta_loss="kullback-leibler", random_state=1
)
print(usages.shape, spectra.shape, iterations)
