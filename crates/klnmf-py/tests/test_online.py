"""Learning from blocks: klnmf.Online and partial_fit."""

import json
import pickle

import klnmf
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from klnmf import KLNMF, TopicModel


@pytest.fixture(scope="module")
def V():
    """Counts of 30 features in 600 samples, which mix three parts."""
    random = np.random.default_rng(1)
    W = np.kron(np.eye(3), np.ones((10, 1))) * random.uniform(0.5, 2, (30, 1)) + 0.02
    return random.poisson(W @ random.gamma(0.4, 8.0, (3, 600))).astype(float)


def blocks_of(V, count=20):
    return np.array_split(V, count, axis=1)


def pushed(blocks, **settings):
    online = klnmf.Online(3, **settings)
    for block in blocks:
        online.push(block)
    return online


def loss(V, W):
    return klnmf.decompose(V, W).divergence


def test_two_passes_come_close_to_factorize(V):
    best = klnmf.factorize(V, 3).divergence
    online = pushed(blocks_of(V) * 2)
    assert loss(V, online.W) < 1.05 * best
    assert online.blocks == 40 and online.rank == 3 and online.features is None
    np.testing.assert_allclose(online.W.sum(axis=0), 1)


def test_weights_are_certified_for_the_parts_before(V):
    first, second = blocks_of(V)[:2]
    online = pushed([first])
    W = online.W
    found = online.push(second)
    best = klnmf.decompose(second, W, tol=1e-9)
    np.testing.assert_array_equal(found.W, W)
    assert (found.divergences - found.gaps <= best.divergences * (1 + 1e-9) + 1e-9).all()
    assert found.columns_converged.all() and (online.W != W).any()


def test_the_same_bits_after_a_file_a_pickle_and_on_any_threads(V, tmp_path):
    blocks = blocks_of(V)
    want = pushed(blocks, threads=1).W
    np.testing.assert_array_equal(pushed(blocks, threads=3).W, want)
    half = pushed(blocks[:10], forgetting=0.0, seed=0)
    path = tmp_path / "online.npz"
    half.save(path)
    for again in (klnmf.Online.load(path), pickle.loads(pickle.dumps(half))):
        for block in blocks[10:]:
            again.push(block)
        np.testing.assert_array_equal(again.W, want)
    with pytest.raises(FileExistsError, match="overwrite"):
        half.save(path)
    # What a killed program has left is removed.
    (tmp_path / ".online.npz.klnmf-x7Qa2b").write_bytes(b"half")
    half.save(path, overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["online.npz"]


def test_files_that_are_something_else(V, tmp_path):
    path = tmp_path / "model.npz"
    klnmf.factorize(V, 2).save(path)
    with pytest.raises(ValueError, match="not the state"):
        klnmf.Online.load(path)
    pushed(blocks_of(V)[:1]).save(tmp_path / "online.npz")
    with np.load(tmp_path / "online.npz") as file:
        arrays = dict(file)
    facts = json.loads(str(arrays["facts"]))
    facts |= {"online": 2, "version": "9.9.9"}
    arrays["facts"] = np.array(json.dumps(facts))
    np.savez(tmp_path / "later.npz", **arrays)
    with pytest.raises(ValueError, match=r"9\.9\.9"):
        klnmf.Online.load(tmp_path / "later.npz")
    with pytest.raises(ValueError, match=r"\.npz"):
        pushed([]).save(tmp_path / "online")


def test_features_are_matched_by_name(V):
    names = np.array([f"f{i}" for i in range(30)])
    random = np.random.default_rng(0)
    frames, plain = klnmf.Online(3), klnmf.Online(3)
    for number, block in enumerate(blocks_of(V)):
        # In any order; some features come later, and some are missing now and then.
        rows = random.permutation(20 if number < 5 else 30)[: 20 if number < 5 else 28]
        frame = pd.DataFrame(block[rows], index=names[rows])
        if number % 2:
            frame = frame.astype(pd.SparseDtype(float, 0))
        frames.push(frame)
        whole = np.zeros((20 if number < 5 else 30, block.shape[1]))
        whole[rows] = block[rows]
        plain.push(whole)
    assert sorted(frames.features) == sorted(names)
    at = [list(frames.features).index(name) for name in names]
    # Only the random start of a feature depends on its place.
    assert loss(V, frames.W[at]) == pytest.approx(loss(V, plain.W), rel=0.1)
    with pytest.raises(ValueError, match="labels"):
        frames.push(V)
    with pytest.raises(ValueError, match="none"):
        plain.push(pd.DataFrame(V))
    with pytest.raises(ValueError, match="twice"):
        frames.push(pd.DataFrame(np.ones((2, 3)), index=["f1", "f1"]))


def test_a_failure_teaches_nothing(V):
    online = pushed(blocks_of(V)[:2])
    W = online.W
    for bad in (-V, np.full((30, 2), np.nan), V[:5]):
        with pytest.raises(ValueError):
            online.push(bad)
    np.testing.assert_array_equal(online.W, W)
    assert online.blocks == 2
    for settings in ({"forgetting": 2}, {"tol": -1}, {"seed": -1}):
        with pytest.raises(ValueError):
            klnmf.Online(2, **settings)


def test_sparse_and_single_precision(V):
    blocks = blocks_of(V)
    want = loss(V, pushed(blocks).W)
    assert loss(V, pushed([sp.csc_array(block) for block in blocks]).W) == pytest.approx(want, rel=1e-3)
    assert loss(V, pushed([block.astype(np.float32) for block in blocks]).W) == pytest.approx(want, rel=1e-3)
    assert klnmf.Online(2).push(V.astype(np.float32)).H.dtype == np.float32


def test_forgetting_follows_drift(V):
    drifted = np.roll(V, 5, axis=0)
    stream = blocks_of(V) * 3 + blocks_of(drifted) * 2
    after = [loss(drifted, pushed(stream, forgetting=forgetting).W) for forgetting in (0.3, 0.0)]
    assert after[0] < 0.5 * after[1] and after[0] < 1.2 * klnmf.factorize(drifted, 3).divergence


def test_partial_fit_of_klnmf(V):
    best = klnmf.factorize(V, 3).divergence
    model = KLNMF(3, random_state=0)
    for block in blocks_of(V) * 2:
        assert model.partial_fit(block.T) is model
    assert model.n_steps_ == 40 and model.components_.shape == (3, 30)
    assert loss(V, model.components_.T) < 1.05 * best
    orders = []
    for seed in range(3):
        other = KLNMF(3, random_state=0)
        for number in np.random.default_rng(seed).permutation(40):
            other.partial_fit(blocks_of(V)[number % 20].T)
        orders.append(loss(V, other.components_.T))
    assert max(orders) < 1.01 * min(orders)
    again = pickle.loads(pickle.dumps(model)).partial_fit(V.T)
    np.testing.assert_array_equal(again.components_, model.partial_fit(V.T).components_)
    np.testing.assert_allclose(model.transform(V.T), klnmf.decompose(V, model.components_.T).H.T, rtol=1e-2)
    # A fit begins anew.
    assert not hasattr(model.fit(V.T), "n_steps_")


def test_partial_fit_after_fit_keeps_what_was_learned(V):
    model = KLNMF(3, random_state=0).fit(V.T)
    before = model.components_.copy()
    model.partial_fit(blocks_of(V)[3].T)
    assert np.abs(model.components_ - before).max() < 0.1 * before.max()
    assert not hasattr(model, "gap_") and model.gap_weights_ >= 0
    assert loss(V, model.components_.T) < 1.05 * loss(V, before.T)


def test_partial_fit_of_topics(V):
    model = TopicModel(3, random_state=0)
    for block in blocks_of(V) * 2:
        model.partial_fit(block.T)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)
    assert (model.components_ > 0).all() and model.n_steps_ == 40
    fitted = TopicModel(3, random_state=0).fit(V.T)
    assert model.perplexity(V.T) < 1.05 * fitted.perplexity(V.T)
    assert fitted.partial_fit(V.T[:30]).perplexity(V.T) < 1.05 * model.perplexity(V.T)
