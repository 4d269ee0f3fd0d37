"""Saving and loading, also between Python and the program."""

import json
import subprocess
import zipfile
from pathlib import Path

import klnmf
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

PROGRAM = Path(__file__).parents[3] / "target" / "debug" / "klnmf"
program = pytest.mark.skipif(not PROGRAM.exists(), reason=f"{PROGRAM} is not there: cargo build -p klnmf-cli")


def run(*arguments, cwd):
    return subprocess.run([PROGRAM, *arguments], cwd=cwd, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def V(counts):
    return pd.DataFrame(counts, [f"gene{i}" for i in range(60)], [f"cell{i}" for i in range(90)])


def results(V):
    t = np.arange(4000) / 8000
    y = np.sin(2000 * t) + np.sin(6000 * t)
    model = klnmf.factorize(V, 3, seed=7)
    yield model
    yield klnmf.factorize(V.astype(np.float32), 3, update="H", init=(model.W, model.H), tol=1e-3)
    yield klnmf.decompose(V, model)
    yield klnmf.decompose(V, model, max_iter=1)
    yield klnmf.topics(V.T, 3, seed=7)
    yield klnmf.topic_weights(V.T, klnmf.topics(V.T, 3, max_iter=10))
    yield klnmf.separate(y, 8000, 2)
    yield klnmf.separate(y, 8000, dictionaries={"low": np.ones((94, 1)), "high": np.eye(94, 2) + 0.1})


def same(one, other):
    assert type(one) is type(other)
    for name in one.__dataclass_fields__:
        left, right = getattr(one, name), getattr(other, name)
        if name == "info":
            assert left._replace(seconds=0) == right._replace(seconds=0)
        elif name == "metadata":
            assert left.items() <= right.items()
        elif name != "trace":
            np.testing.assert_array_equal(left, right, err_msg=name)
            assert np.asarray(left).dtype == np.asarray(right).dtype or name in ("features", "samples")


def test_what_is_saved_is_loaded(V, tmp_path):
    for i, found in enumerate(results(V)):
        path = tmp_path / f"{i}.npz"
        found.save(path)
        again = klnmf.load(path)
        same(getattr(found, "model", found), again)
        again.save(tmp_path / "again.npz", overwrite=True)
        same(again, klnmf.load(tmp_path / "again.npz"))
        facts = again.metadata
        assert facts["version"] == klnmf.__version__
        assert facts["instruction_level"] == klnmf.instruction_level()
        assert facts["call"].startswith("klnmf.") and len(facts["data_hash"]) == 16
        with np.load(path) as arrays:
            assert json.loads(str(arrays["metadata"]))["data_hash"] == facts["data_hash"]


def test_the_call_is_recorded(counts, tmp_path):
    model = klnmf.factorize(counts, 3, seed=5, init="nndsvd", tol=1e-2)
    assert model.metadata["call"] == "klnmf.factorize(V, rank=3, init='nndsvd', tol=0.01, seed=5)"
    found = klnmf.decompose(counts, model, max_iter=7)
    assert found.metadata["call"] == "klnmf.decompose(V, W, max_iter=7)"
    assert klnmf.factorize(counts, init=model).metadata["call"] == "klnmf.factorize(V, init=<Result>)"


def test_the_hash_is_that_of_the_numbers(counts):
    def hash_of(V):
        return klnmf.factorize(V, 2, max_iter=1).metadata["data_hash"]

    for change in (np.asfortranarray, sp.csr_matrix, sp.csc_matrix, np.float32):
        assert hash_of(change(counts)) == hash_of(counts)
    other = counts.copy()
    other[3, 4] += 1
    assert hash_of(other) != hash_of(counts) != hash_of(counts[::-1])


def test_nothing_is_overwritten_unless_asked(counts, tmp_path):
    model = klnmf.factorize(counts, 2, max_iter=5)
    path = tmp_path / "model.npz"
    path.write_text("precious")
    with pytest.raises(FileExistsError, match="model.npz exists: give another name, or overwrite=True"):
        model.save(path)
    assert path.read_text() == "precious"
    model.save(path, overwrite=True)
    np.testing.assert_array_equal(klnmf.load(path).W, model.W)
    with pytest.raises(ValueError, match="model.txt: the result is a .npz file; give a name"):
        model.save(tmp_path / "model.txt")
    with pytest.raises(OSError, match="cannot write .*model.npz"):
        model.save(tmp_path / "nowhere" / "model.npz")


def test_what_cannot_be_loaded(counts, tmp_path):
    with pytest.raises(FileNotFoundError, match="cannot read .*none.npz"):
        klnmf.load(tmp_path / "none.npz")
    np.savez(tmp_path / "other.npz", X=counts)
    with pytest.raises(ValueError, match="this is not a klnmf model"):
        klnmf.load(tmp_path / "other.npz")
    model = klnmf.factorize(counts, 2, max_iter=5)
    model.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as arrays:
        arrays = dict(arrays)
    arrays["metadata"] = np.array(str(arrays["metadata"]).replace(klnmf.__version__, "99.1.0"))
    np.savez(tmp_path / "later.npz", **arrays)
    with pytest.raises(ValueError, match=r"klnmf 99.1.0 wrote this model and this is klnmf .*: install"):
        klnmf.load(tmp_path / "later.npz")
    with zipfile.ZipFile(tmp_path / "model.npz") as archive:
        assert all(info.date_time[0] == 1980 for info in archive.infolist())


@program
def test_python_loads_what_the_program_wrote(V, tmp_path):
    V.to_csv(tmp_path / "v.csv")
    line = "factorize v.csv --rank 3 --seed 7 --out model.npz --json"
    told = json.loads(run(*line.split(), cwd=tmp_path))
    model, ours = klnmf.load(tmp_path / "model.npz"), klnmf.factorize(V, 3, seed=7)
    np.testing.assert_array_equal(model.W, ours.W)
    assert model.features.tolist() == V.index.tolist() and model.samples.tolist() == V.columns.tolist()
    assert model.relative_gap == ours.relative_gap == told["relative_gap"]
    assert model.status == "converged" and model.metadata["data_hash"] == ours.metadata["data_hash"]
    assert "command" in model.metadata
    run("decompose", "v.csv", "--dictionary", "model.npz", "--out", "h.npz", cwd=tmp_path)
    found, ours = klnmf.load(tmp_path / "h.npz"), klnmf.decompose(V, model)
    np.testing.assert_array_equal(found.H, ours.H)
    np.testing.assert_array_equal(found.gaps, ours.gaps)
    assert found.converged and found.columns_converged.all()
    sp.save_npz(tmp_path / "counts.npz", sp.csr_matrix(V.to_numpy().T))
    run("topics", "counts.npz", "--topics", "3", "--out", "topics", cwd=tmp_path)
    topics = klnmf.load(next((tmp_path / "topics").glob("*.npz")))
    assert topics.topics.shape[0] == 3 and topics.words == V.to_numpy().sum()


@program
def test_the_program_reads_what_python_saved(V, tmp_path):
    V.to_csv(tmp_path / "v.csv")
    model = klnmf.factorize(V, 3, seed=7)
    model.save(tmp_path / "model.npz")
    told = run("info", "model.npz", cwd=tmp_path)
    for text in (
        "klnmf.factorize(V, rank=3, seed=7)",
        klnmf.__version__,
        klnmf.instruction_level(),
        model.metadata["data_hash"],
        "of rows and columns",
    ):
        assert text in told
    assert model.metadata["data_hash"] in run("info", "v.csv", cwd=tmp_path)
    run("decompose", "v.csv", "--dictionary", "model.npz", "--out", "h.npz", cwd=tmp_path)
    np.testing.assert_array_equal(klnmf.load(tmp_path / "h.npz").H, klnmf.decompose(V, model).H)
