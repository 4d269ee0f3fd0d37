"""The places where others plug a factorisation in: cNMF, librosa, AnnData."""

import anndata
import klnmf
import librosa
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from klnmf.sklearn import non_negative_factorization
from sklearn.decomposition import NMF
from sklearn.decomposition import non_negative_factorization as theirs
from sklearn.decomposition._nmf import _initialize_nmf


def cnmf_arguments(k, seed):
    """What cNMF passes on: the parameters as it reads them back from its YAML and its data frame."""
    parameters = pd.DataFrame([[k, 0, seed]], columns=["n_components", "iter", "nmf_seed"]).iloc[0]
    return dict(
        alpha_W=0.0,
        alpha_H="same",
        l1_ratio=0.0,
        beta_loss="kullback-leibler",
        solver="mu",
        tol=1e-4,
        max_iter=1000,
        init="random",
        random_state=parameters["nmf_seed"],
        n_components=parameters["n_components"],
    )


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cnmf(counts, kind, dtype):
    """cNMF's three calls: replicates, usage for the consensus spectra, spectra in other units."""
    X = kind(counts.T.astype(dtype))
    arguments = cnmf_arguments(4, 2**32 - 7)
    usage, spectra, iterations = non_negative_factorization(X, **arguments)
    assert usage.shape == (90, 4) and spectra.shape == (4, 60) and 1 <= iterations <= 1000
    assert usage.dtype == spectra.dtype == dtype
    reference = theirs(X, **arguments)
    ours = klnmf.certificate(X.T, spectra.T, usage.T).divergence
    assert ours <= 1.02 * klnmf.certificate(X.T, reference[1].T, reference[0].T).divergence

    median = spectra / spectra.sum(axis=1, keepdims=True)
    refit = {**arguments, "H": median, "update_H": False}
    usage, same, _ = non_negative_factorization(X, **refit)
    assert same is median or np.array_equal(same, median)
    reference = theirs(X, **refit)[0]
    assert klnmf.certificate(X.T, median.T, usage.T).divergence <= (
        klnmf.certificate(X.T, median.T, reference.T).divergence * (1 + 1e-6)
    )

    shares = (usage / usage.sum(axis=1, keepdims=True)).astype(np.float64)
    refit["H"] = shares.T
    spectra, _, _ = non_negative_factorization(X.astype(np.float64).T, **refit)
    assert spectra.shape == (60, 4)


def test_same_start_as_scikit_learn(counts):
    weights, components = _initialize_nmf(counts.T, 3, init="random", random_state=3)
    W, H = klnmf.sklearn._random(counts.T, 3, 3)
    np.testing.assert_array_equal(W.T, components)
    np.testing.assert_array_equal(H.T, weights)


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-4])
def test_stopping_rule_is_scikit_learns(counts, tol):
    start = klnmf.sklearn._random(counts.T, 4, 0)
    errors = {}

    def keep(info):
        errors[info.iteration] = np.sqrt(2 * info.divergence)

    klnmf.factorize(counts, init=start, tol=0, max_iter=500, callback=keep, inner=1, mixed=False)
    first = errors[min(errors)]
    tens = range(10 if 0 in errors else 20, 501, 10)
    expected = next(n for n in tens if errors[n - 10] - errors[n] <= tol * first)
    *_, iterations = non_negative_factorization(
        counts.T, n_components=4, init="random", tol=tol, random_state=0, max_iter=500
    )
    assert iterations == expected


def test_what_is_not_possible(counts):
    with pytest.raises(ValueError, match="only 'kullback-leibler' is possible here"):
        non_negative_factorization(counts.T, beta_loss="frobenius")
    with pytest.raises(ValueError, match="solver 'cd' does not handle beta_loss = 'kullback-leibler'"):
        non_negative_factorization(counts.T, solver="cd")
    with pytest.raises(ValueError, match="there is no regularisation here"):
        non_negative_factorization(counts.T, alpha_W=0.1)
    for wrong in (-1, np.nan, None):
        with pytest.raises(ValueError, match=f"tol = {wrong}: a finite number ≥ 0"):
            non_negative_factorization(counts.T, n_components=2, tol=wrong)
    with pytest.raises(ValueError, match="n_components = 0: a whole number ≥ 1"):
        non_negative_factorization(counts.T, n_components=0)


def test_verbose(counts, capsys):
    non_negative_factorization(counts.T, n_components=3, verbose=1, random_state=0)
    assert "Epoch 10 reached after" in capsys.readouterr().out


@pytest.mark.parametrize("sort", [False, True])
def test_librosa(sort):
    rate = 8000
    time = np.arange(rate) / rate
    y = np.sin(2 * np.pi * 440 * time) * (time < 0.6) + np.sin(2 * np.pi * 1760 * time) * (time > 0.4)
    S = np.abs(librosa.stft(y, n_fft=512))
    model = klnmf.KLNMF(n_components=2, random_state=0)
    components, activations = librosa.decompose.decompose(S, transformer=model, sort=sort)
    assert components.shape == (257, 2) and activations.shape == (2, S.shape[1])
    reference = NMF(2, solver="mu", beta_loss="kullback-leibler", random_state=0, max_iter=500)
    theirs = librosa.decompose.decompose(S, transformer=reference, sort=sort)
    assert klnmf.certificate(S, components, activations).divergence <= (
        1.001 * klnmf.certificate(S, *theirs).divergence
    )
    again = librosa.decompose.decompose(S, transformer=model, fit=False)
    np.testing.assert_allclose(again[0] @ again[1], components @ activations, atol=0.05 * S.max())


@pytest.fixture
def adata(counts):
    return anndata.AnnData(
        sp.csr_matrix(counts.T.astype(np.float32)),
        obs=pd.DataFrame(index=[f"cell{i}" for i in range(90)]),
        var=pd.DataFrame(index=[f"gene{i}" for i in range(60)]),
        layers={"counts": sp.csr_matrix(counts.T)},
    )


def test_scanpy(adata, tmp_path):
    assert klnmf.scanpy.nmf(adata, n_components=4, seed=1) is None
    usage, programmes, facts = adata.obsm["X_nmf"], adata.varm["nmf"], adata.uns["nmf"]
    assert usage.shape == (90, 4) and programmes.shape == (60, 4)
    assert usage.dtype == programmes.dtype == np.float32
    np.testing.assert_allclose(programmes.sum(axis=0), 1, rtol=1e-5)
    assert facts["status"] == "converged" and facts["params"]["seed"] == 1
    assert facts["divergence"] == pytest.approx(
        klnmf.certificate(adata.X.T, programmes, usage.T).divergence, rel=1e-6
    )
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    np.testing.assert_array_equal(again.obsm["X_nmf"], usage)
    assert again.uns["nmf"]["relative_gap"] == facts["relative_gap"]


def test_scanpy_options(adata):
    copy = klnmf.scanpy.nmf(adata, 3, layer="counts", key_added="programmes", copy=True)
    assert "programmes" in copy.obsm and "programmes" in copy.varm and "programmes" in copy.uns
    assert copy.obsm["programmes"].dtype == np.float64 and not adata.obsm
    used = np.arange(60) % 3 > 0
    adata.var["highly_variable"] = used
    klnmf.scanpy.nmf(adata, 3)
    programmes = adata.varm["nmf"]
    assert (programmes[~used] == 0).all()
    found = klnmf.certificate(adata.X[:, used].T, programmes[used], adata.obsm["X_nmf"].T).divergence
    assert found == pytest.approx(adata.uns["nmf"]["divergence"], rel=1e-6)
    klnmf.scanpy.nmf(adata, 3, mask_var=None)
    assert adata.varm["nmf"][~used].any()
    klnmf.scanpy.nmf(adata[10:50], 3, copy=True)
    with pytest.raises(ValueError, match="mask_var = 'nothing': adata.var has no such column"):
        klnmf.scanpy.nmf(adata, 3, mask_var="nothing")
    with pytest.raises(ValueError, match="layer = 'spliced': adata has 'counts'; name one"):
        klnmf.scanpy.nmf(adata, 3, layer="spliced")
    with pytest.raises(TypeError, match=r"AnnData object: give its matrix, adata\.X"):
        klnmf.KLNMF(3).fit(adata)
    with pytest.raises(ValueError, match="n_components = 0: a whole number ≥ 1"):
        klnmf.scanpy.nmf(adata, 0)


def test_scanpy_masks(adata):
    used = np.arange(60) % 3 > 0
    columns = {"nan": np.where(used, 1.0, np.nan), "strings": np.where(used, "True", "False")}
    columns["missing"] = pd.array([None, *used[1:]], dtype="boolean")
    for name, column in columns.items():
        adata.var[name] = column
        with pytest.raises(ValueError, match=f"mask_var = '{name}' is .* for gene 0 .*give True or False"):
            klnmf.scanpy.nmf(adata, 3, mask_var=name)
    with pytest.raises(ValueError, match=r"mask_var has the shape \(3,\): give True or False for 60 genes"):
        klnmf.scanpy.nmf(adata, 3, mask_var=np.array([0, 4, 7]))
    adata.var["nullable"] = pd.array(used, dtype="boolean")
    klnmf.scanpy.nmf(adata, 3, mask_var="nullable")
    np.testing.assert_array_equal(adata.varm["nmf"].any(axis=1), used)


def test_scanpy_seeds(adata):
    klnmf.scanpy.nmf(adata, 3, seed=np.int64(4))
    expected = adata.obsm["X_nmf"]
    assert adata.uns["nmf"]["params"]["seed"] == 4
    klnmf.scanpy.nmf(adata, np.int64(3), random_state=4)
    np.testing.assert_array_equal(adata.obsm["X_nmf"], expected)
    assert adata.uns["nmf"]["params"]["seed"] == 4
    with pytest.raises(TypeError, match="two names of the same option"):
        klnmf.scanpy.nmf(adata, 3, seed=1, random_state=1)


def test_scanpy_errors_name_cell_and_gene(adata):
    negative = adata.layers["counts"].toarray()
    negative[2, 31] = -1
    adata.layers["counts"] = sp.csr_matrix(negative)
    adata.var["highly_variable"] = np.arange(60) >= 30
    with pytest.raises(ValueError, match=r"^layers\['counts'\]\[2, 31\] = -1 is negative"):
        klnmf.scanpy.nmf(adata, 3, layer="counts")


def test_scanpy_data_in_a_file(adata, tmp_path):
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    with pytest.raises(ValueError, match="adata.to_memory()"):
        klnmf.scanpy.nmf(backed, 3)
    backed.file.close()


@pytest.mark.parametrize("init", [None, "random", "nndsvd"])
def test_storage_does_not_matter(counts, init):
    """Dense and sparse storage of the same data give the same answer, and `init=None` is scikit-learn's."""
    from klnmf.sklearn import non_negative_factorization as nmf

    how = {"n_components": 3, "init": init, "random_state": 0, "max_iter": 50, "tol": 0}
    dense, sparse = nmf(counts.T, **how), nmf(sp.csr_matrix(counts.T), **how)
    np.testing.assert_allclose(dense[0] @ dense[1], sparse[0] @ sparse[1], rtol=1e-6, atol=1e-9)
    if init is None:
        np.testing.assert_array_equal(dense[0], nmf(counts.T, **{**how, "init": "nndsvda"})[0])
        wide = {**how, "n_components": 70}
        np.testing.assert_array_equal(nmf(counts.T, **wide)[0], nmf(counts.T, **{**wide, "init": "random"})[0])
