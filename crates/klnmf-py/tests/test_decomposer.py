"""Dictionaries that are kept between calls: same numbers, no stale ones, no dead threads."""

import copy
import gc
import multiprocessing
import os
import pickle
import threading
import weakref

import klnmf
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from klnmf import KLNMF, TopicModel, _estimator
from sklearn.base import clone

posix = pytest.mark.skipif(os.name != "posix", reason="forks as POSIX has them")


@pytest.fixture
def W():
    return np.random.default_rng(1).gamma(0.5, size=(60, 4))


@pytest.fixture(params=["KLNMF", "TopicModel"])
def model(request, counts):
    if request.param == "KLNMF":
        return KLNMF(4, random_state=0).fit(counts.T)
    return TopicModel(4, topic_prior=0, random_state=0).fit(counts.T)


def fresh(model, X):
    """The weights of an estimator that has nothing prepared."""
    return pickle.loads(pickle.dumps(model)).transform(X)


def same(one, other):
    for field in ("H", "divergences", "gaps", "iterations", "columns_converged"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))
    assert one.status == other.status and one.H.dtype == other.H.dtype


@pytest.mark.parametrize("of_v", [np.float32, np.float64])
@pytest.mark.parametrize("of_w", [np.float32, np.float64])
def test_same_bits_as_decompose(counts, W, of_v, of_w):
    W = W.astype(of_w)
    decomposer = klnmf.Decomposer(W, threads=2)
    for form in (np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array):
        V = form(counts.astype(of_v))
        for _ in range(2):
            same(decomposer.decompose(V), klnmf.decompose(V, W))
    same(decomposer.decompose(counts[:, :1], tol=1e-3), klnmf.decompose(counts[:, :1], W, tol=1e-3))
    limited = decomposer.decompose(counts, tol=0, max_iter=3)
    same(limited, klnmf.decompose(counts, W, tol=0, max_iter=3))
    assert limited.status == "iteration limit"


def test_keeps_a_copy_of_the_dictionary(counts, W):
    decomposer = klnmf.Decomposer(W)
    expected = klnmf.decompose(counts, W)
    W *= 2
    same(decomposer.decompose(counts), expected)
    # A precision that comes first after the change, too.
    single = klnmf.Decomposer(W.astype(np.float32))
    same(single.decompose(counts), klnmf.decompose(counts, single.W))
    with pytest.raises(ValueError, match="read-only"):
        decomposer.W[0, 0] = 1


def test_pickle_and_copy(counts, W):
    decomposer = klnmf.Decomposer(W, threads=1)
    expected = decomposer.decompose(counts)
    for other in (pickle.loads(pickle.dumps(decomposer)), copy.deepcopy(decomposer), copy.copy(decomposer)):
        assert other.threads == 1
        same(other.decompose(counts), expected)


def test_rows_of_data_frames_are_matched(counts, W):
    names = [f"channel {i}" for i in range(60)]
    V, frame = pd.DataFrame(counts, names), pd.DataFrame(W, names)
    decomposer = klnmf.Decomposer(frame)
    for other in (decomposer, pickle.loads(pickle.dumps(decomposer))):
        same(other.decompose(V), klnmf.decompose(V, frame))
        turned = V.iloc[::-1]
        same(other.decompose(turned), klnmf.decompose(turned, frame))
        same(other.decompose(counts), klnmf.decompose(counts, W))
    with pytest.raises(ValueError, match="W has no 'other'; V has no 'channel 0'"):
        decomposer.decompose(V.rename({"channel 0": "other"}))


def test_what_it_refuses(counts, W):
    with pytest.raises(ValueError, match=r"W\[2, 1\] = NaN"):
        klnmf.Decomposer(np.where(np.arange(240).reshape(60, 4) == 9, np.nan, W))
    with pytest.raises(ValueError, match="W has 1 dimensions"):
        klnmf.Decomposer(W[0])
    with pytest.raises(TypeError, match="complex"):
        klnmf.Decomposer(W * 1j)
    with pytest.raises(ValueError, match="threads = 2000: at most 1024 are possible"):
        klnmf.Decomposer(W, threads=2000)
    decomposer = klnmf.Decomposer(W)
    for V, options, text in [
        (counts[:50], {}, "V has 50 rows"),
        (-counts, {}, r"V\[\d+, \d+\] = -"),
        (counts, {"tol": -1}, "tol = -1"),
        (counts, {"max_iter": -1}, "max_iter = -1"),
        (counts, {"time_limit": -1}, "time_limit = -1"),
    ]:
        with pytest.raises(ValueError, match=text):
            decomposer.decompose(V, **options)
    # It still works.
    same(decomposer.decompose(counts), klnmf.decompose(counts, W))


def test_threads_share_one(counts, W):
    decomposer, expected = klnmf.Decomposer(W, threads=2), klnmf.decompose(counts, W)
    found = []
    work = [
        threading.Thread(target=lambda: found.extend(decomposer.decompose(counts) for _ in range(5)))
        for _ in range(4)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert len(found) == 20
    for one in found:
        same(one, expected)


def test_an_estimator_prepares_once(model, counts):
    first = model.transform(counts.T)
    prepared = _estimator._PREPARED[model]
    np.testing.assert_array_equal(model.transform(counts.T), first)
    np.testing.assert_array_equal(
        model.transform(sp.csr_array(counts.T)), fresh(model, sp.csr_array(counts.T))
    )
    assert _estimator._PREPARED[model] is prepared
    np.testing.assert_array_equal(fresh(model, counts.T), first)
    model.set_params(threads=1)
    np.testing.assert_array_equal(model.transform(counts.T), first)
    assert _estimator._PREPARED[model] is not prepared


def test_plain_topics_have_the_bits_of_topic_weights(counts):
    model = TopicModel(4, topic_prior=0, random_state=0).fit(counts.T)
    # Topics of any scale, and one that is zero.
    model.components_ = model.components_ * np.array([[1.0], [3.0], [0.0], [0.1]])
    for X in (counts.T, sp.csr_array(counts.T)):
        ours, plain = model.weights(X), klnmf.topic_weights(X, model.components_, topic_prior=0)
        for field in ("weights", "gaps", "log_likelihood", "unconverged", "status"):
            np.testing.assert_array_equal(getattr(ours, field), getattr(plain, field))


def test_changed_components_count(model, counts):
    X = counts.T
    before = model.transform(X)
    model.components_[0] *= 0.5
    model.components_[0, 3] += 0.25
    inside = model.transform(X)
    assert not np.array_equal(inside, before)
    np.testing.assert_array_equal(inside, fresh(model, X))
    model.components_ = model.components_[::-1].copy()
    assigned = model.transform(X)
    np.testing.assert_array_equal(assigned, fresh(model, X))
    assert not np.array_equal(assigned, inside)
    model.components_ = model.components_[:2].astype(np.float32) + np.float32(1e-3)
    assert model.transform(X).shape == (90, 2)
    np.testing.assert_array_equal(model.transform(X), fresh(model, X))
    model.set_params(n_components=3).fit(X)
    np.testing.assert_array_equal(model.transform(X), fresh(model, X))


def test_features_that_no_component_has(counts):
    model = KLNMF(4, random_state=0).fit(counts.T)
    expected = model.transform(counts.T)
    model.components_[:, 7] = 0
    with pytest.warns(UserWarning, match="occur in X but in no component"):
        found = model.decompose(counts.T)
    assert np.isinf(found.divergences).any()
    with pytest.warns(UserWarning, match="occur in X but in no component"):
        np.testing.assert_array_equal(found.H.T, fresh(model, counts.T))
    assert not np.array_equal(found.H.T, expected)


def test_nothing_is_kept_in_the_estimator(model, counts):
    state, size = dict(model.__dict__), len(pickle.dumps(model))
    expected = model.transform(counts.T)
    assert model.__dict__ == state and len(pickle.dumps(model)) == size
    assert not hasattr(clone(model), "components_")
    np.testing.assert_array_equal(copy.deepcopy(model).transform(counts.T), expected)


def test_prepared_components_end_with_the_estimator(counts):
    model = KLNMF(4, random_state=0).fit(counts.T)
    model.transform(counts.T)
    prepared = weakref.ref(_estimator._PREPARED[model])
    del model
    gc.collect()
    assert prepared() is None


def _in_child(work, pipe):
    pipe.send(work())
    pipe.close()


def forked(work):
    """What `work` returns in a forked child, which must come soon and end well."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(False)
    child = context.Process(target=_in_child, args=(work, theirs))
    child.start()
    try:
        assert ours.poll(60), "the child hangs"
        result = ours.recv()
        child.join(60)
        assert child.exitcode == 0
        return result
    finally:
        child.kill()


@posix
def test_fork(model, counts, W):
    decomposer = klnmf.Decomposer(W, threads=2)
    expected = decomposer.decompose(counts).H, model.transform(counts.T)

    def work():
        return [(decomposer.decompose(counts).H, model.transform(counts.T)) for _ in range(2)]

    def drop():
        _estimator._PREPARED.clear()
        decomposer._native.clear()
        gc.collect()
        return work()

    for _ in range(3):
        for job in (work, drop, lambda: forked(work)):
            for found in forked(job):
                np.testing.assert_array_equal(found[0], expected[0])
                np.testing.assert_array_equal(found[1], expected[1])
    # The parent's threads are still there.
    np.testing.assert_array_equal(decomposer.decompose(counts).H, expected[0])
    np.testing.assert_array_equal(model.transform(counts.T), expected[1])


@posix
def test_fork_while_it_works(W):
    """A child of a process that is in the middle of a decomposition."""
    V = np.random.default_rng(0).poisson(3.0, (60, 4000)).astype(float)
    decomposer = klnmf.Decomposer(W, threads=2)
    expected = decomposer.decompose(V[:, :50]).H
    busy = threading.Thread(target=lambda: decomposer.decompose(V, tol=0, max_iter=10**6, time_limit=2))
    busy.start()
    for _ in range(3):
        np.testing.assert_array_equal(forked(lambda: decomposer.decompose(V[:, :50]).H), expected)
    busy.join()


def test_separate_uses_the_dictionaries(W):
    t = np.arange(8000) / 8000
    y = np.where(t < 0.5, np.sin(2000 * t), np.sin(6000 * t))
    V = klnmf.spectrogram(y, 8000)
    parts = [klnmf.factorize(V[:, half], 2).W + 1e-12 for half in (slice(None, 44), slice(44, None))]
    found = klnmf.separate(y, 8000, dictionaries=parts)
    np.testing.assert_array_equal(found.H, klnmf.Decomposer(np.hstack(parts)).decompose(V).H)
