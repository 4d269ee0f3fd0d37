"""Factorisations on a Dask cluster: the same bytes as in one process, whatever happens to workers."""

import os
import signal
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

distributed = pytest.importorskip("distributed")

import dask.array as da  # noqa: E402
from cluster_cases import cases, digest, expected, matrix  # noqa: E402

import klnmf  # noqa: E402
import klnmf.dask as on_dask  # noqa: E402


@pytest.fixture(scope="module")
def client():
    options = {"processes": True, "dashboard_address": None, "silence_logs": "CRITICAL"}
    with (
        distributed.LocalCluster(n_workers=3, threads_per_worker=1, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def alone():
    return expected()


def test_every_solver_gives_the_bytes_of_one_process(client, alone):
    rng = np.random.default_rng(5)
    for name, V, settings in cases():
        found = on_dask.factorize(V, 4, client=client, pieces=int(rng.integers(1, 6)), **settings)
        assert digest(found) == alone[name], name


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_number_of_workers_does_not_matter(workers, alone):
    V, settings = matrix(True), {"solver": "auto", "max_iter": 25, "tol": 0.0}
    options = {"processes": True, "dashboard_address": None, "silence_logs": "CRITICAL"}
    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = on_dask.factorize(V, 4, client=client, **settings)
    assert digest(found) == alone["auto True float64"]


# Few iterations, because each takes the scheduler some tens of milliseconds.
FEW = {"tol": 0.0, "max_iter": 24}


@pytest.fixture(scope="module")
def whole():
    return klnmf.factorize(matrix(True), 4, **FEW)


def same(a, b):
    return digest(a) == digest(b)


def test_files_are_read_by_the_workers(client, whole, tmp_path):
    V = matrix(True)
    sp.save_npz(tmp_path / "v.npz", V)
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(sp.csr_matrix(V.T), layers={"twice": sp.csr_matrix(2 * V.T)})
    cells.write_h5ad(tmp_path / "v.h5ad")
    on_dask.convert(tmp_path / "v.h5ad", tmp_path / "v.klnmf")
    for name in ("v.npz", "v.h5ad", "v.klnmf"):
        assert same(on_dask.factorize(tmp_path / name, 4, **FEW, client=client), whole), name
    found = on_dask.factorize(tmp_path / "v.h5ad", 4, **FEW, layer="twice", client=client)
    assert same(found, klnmf.factorize(2 * V, 4, **FEW))
    assert list(found.samples[:2]) == ["0", "1"]
    with pytest.raises(FileNotFoundError, match="absent.npz"):
        on_dask.factorize(tmp_path / "absent.npz", 4, client=client)


def test_dask_arrays_may_have_any_chunks(client, whole):
    dense, stored = matrix(), matrix(True)
    alone = klnmf.factorize(dense, 4, **FEW)
    for chunks in [(40, 100), (150, 7)]:
        found = on_dask.factorize(da.from_array(dense, chunks=chunks), 4, **FEW, client=client)
        assert same(found, alone), chunks
    turned = da.from_array(np.ascontiguousarray(dense.T), chunks=(50, 150))
    assert same(on_dask.factorize(turned, 4, **FEW, transpose=True, client=client), alone)
    # As anndata holds them: samples × features, rows in CSR chunks.
    cells = da.from_array(np.ascontiguousarray(stored.toarray().T), chunks=(50, 150)).map_blocks(
        sp.csr_matrix
    )
    assert same(on_dask.factorize(cells, 4, **FEW, transpose=True, client=client), whole)


def kill_one(client, rng):
    pids = client.run(os.getpid)
    os.kill(list(pids.values())[rng.integers(len(pids))], signal.SIGKILL)


def test_killed_workers_do_not_change_a_byte(client, whole):
    rng, killed = np.random.default_rng(1), []

    def callback(info):
        if info.iteration in (0, 10):
            kill_one(client, rng)
            killed.append(info.iteration)

    found = on_dask.factorize(matrix(True), 4, **FEW, client=client, callback=callback, pieces=4)
    assert killed == [0, 10] and same(found, whole)
    # With states on the way, nothing is computed again from the start.
    killed.clear()
    found = on_dask.factorize(matrix(True), 4, **FEW, client=client, callback=callback, every=0.0)
    assert killed == [0, 10] and same(found, whole)
    with pytest.raises(ValueError, match="every = "):
        on_dask.factorize(matrix(True), 4, client=client, every=1e20)


def test_a_stopped_run_continues_from_its_checkpoint(client, whole, tmp_path):
    path, V = tmp_path / "run.npz", matrix(True)
    stopped = on_dask.factorize(
        V, 4, **FEW, client=client, checkpoint=path, every=0.0, callback=lambda info: info.iteration >= 10
    )
    assert stopped.status == "stopped" and path.exists()
    assert same(on_dask.factorize(V, **FEW, client=client, resume=path, pieces=2), whole)
    with pytest.raises(ValueError, match="cannot continue .*numbers of V"):
        on_dask.factorize(2 * V, **FEW, client=client, resume=path)


def test_an_exception_of_the_callback_ends_the_run(client):
    def callback(info):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        on_dask.factorize(matrix(), 3, client=client, callback=callback)


def test_errors_name_the_place_in_v(client):
    V = matrix()
    V[7, 300] = -1
    with pytest.raises(ValueError, match=r"V\[7, 300\] = -1"):
        on_dask.factorize(V, 3, client=client, pieces=4)
    with pytest.raises(ValueError, match="solver = admm: this solver works in one process only"):
        on_dask.factorize(matrix(), 3, client=client, solver="admm")
    W, H = np.ones((150, 2)), np.ones((2, 333))
    H[:, 200] = 0
    with pytest.raises(ValueError, match=r"V\[\d+, 200\] = .* at the start"):
        on_dask.factorize(matrix(), client=client, init=(W, H))


def test_given_starts_fixed_parts_and_labels(client):
    import pandas as pd

    V = matrix()
    frame = pd.DataFrame(V, [f"g{i}" for i in range(150)], [f"c{j}" for j in range(333)])
    start = klnmf.init(V, 4, seed=3)
    settings = {"init": start, "fixed": 2, "max_iter": 20, "tol": 0.0}
    alone, found = klnmf.factorize(frame, **settings), on_dask.factorize(frame, client=client, **settings)
    assert (
        same(alone, found) and list(found.features[:2]) == ["g0", "g1"] and list(found.samples)[-1] == "c332"
    )


def test_decompositions_have_the_bytes_of_one_process(client):
    V, W = matrix(True), klnmf.factorize(matrix(True), 4).W
    alone, found = klnmf.decompose(V, W), on_dask.decompose(V, W, client=client, pieces=4)
    for name in ("H", "divergences", "gaps", "iterations", "columns_converged"):
        assert np.array_equal(getattr(alone, name), getattr(found, name)), name
    assert (found.status, found.metadata["data_hash"]) == (alone.status, alone.metadata["data_hash"])


def test_independent_fits_are_tasks(client):
    V = matrix()
    found = client.gather(on_dask.fits(V, [{"rank": 2, "seed": 1}, {"rank": 3}], client=client))
    assert same(found[0], klnmf.factorize(V, 2, seed=1)) and same(found[1], klnmf.factorize(V, 3))


@pytest.mark.parametrize("bootstrap", [False, True])
def test_the_fits_of_ranks_are_tasks(client, tmp_path, bootstrap):
    V = matrix(True)[:60, :90]
    settings = {"replicates": 3, "folds": 2, "starts": 2, "bootstrap": bootstrap}
    alone = klnmf.rank(V, [3, 2], **settings, folder=tmp_path / "alone")
    found = klnmf.rank(V, [3, 2], **settings, folder=tmp_path / "shared", client=client)
    # A missing number is not equal to itself.
    assert np.array_equal(alone.table.tolist(), found.table.tolist(), equal_nan=True)
    files = [
        {path.name: path.read_bytes() for path in sorted((tmp_path / name).rglob("*.*"))}
        for name in ("alone", "shared")
    ]
    assert len(files[0]) >= 11 and files[0] == files[1]


def test_the_fits_of_a_consensus_are_tasks(client):
    V = matrix()[:60, :90]
    alone = klnmf.consensus(V, 3, replicates=5)
    found = klnmf.consensus(V, 3, replicates=5, client=client)
    assert np.array_equal(alone.W, found.W) and np.array_equal(alone.H, found.H)
    with pytest.raises(ValueError, match=r"V\[2, 3\] = -1"):
        V[2, 3] = -1
        klnmf.consensus(V, 3, replicates=5, client=client)


def test_the_estimator_follows_dask_ml(client):
    X = np.ascontiguousarray(matrix().T)
    lazy = da.from_array(X, chunks=(100, 150))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = klnmf.KLNMF(n_components=3, random_state=0).fit(X)
        model = on_dask.KLNMF(n_components=3, random_state=0).fit(lazy)
    assert np.array_equal(model.components_, alone.components_) and model.n_features_in_ == 150
    weights = model.transform(lazy)
    assert isinstance(weights, da.Array) and weights.chunks == (lazy.chunks[0], (3,))
    assert np.allclose(weights.compute(), alone.transform(X))
    both = on_dask.KLNMF(n_components=3, random_state=0).fit_transform(lazy)
    assert isinstance(both, da.Array) and both.shape == (333, 3)
