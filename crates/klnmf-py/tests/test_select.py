"""Several starts, ranks, consensus and the matching of parts."""

import numpy as np
import pytest
import scipy.sparse

import klnmf


@pytest.fixture(scope="module")
def planted():
    random = np.random.default_rng(3)
    W = random.dirichlet([0.3] * 30, 3).T
    return random.poisson(W @ random.gamma(1, 600, (3, 50))), W


def test_several_starts_are_never_worse(planted):
    V, _ = planted
    one, many = klnmf.factorize(V, 6), klnmf.factorize(V, 6, starts=5)
    assert many.divergence <= one.divergence
    assert one.starts == () and [start.seed for start in many.starts] == [0, 1, 2, 3, 4]
    assert sum(start.finished for start in many.starts) == 2
    again = klnmf.factorize(V, 6, starts=5, threads=1)
    assert np.array_equal(again.W, many.W)
    with pytest.raises(ValueError, match="a given start is one start"):
        klnmf.factorize(V, init=(one.W, one.H), starts=2)
    with pytest.raises(ValueError, match="starts"):
        klnmf.factorize(V, 2, starts=0)


def test_the_estimator_has_several_starts(planted):
    pytest.importorskip("sklearn")
    X = planted[0].T
    best = klnmf.KLNMF(4, n_init=4, random_state=0).fit(X)
    assert best.divergence_ <= klnmf.KLNMF(4, random_state=0).fit(X).divergence_
    warm = klnmf.KLNMF(4, n_init=4, random_state=0, warm_start=True).fit(X)
    warm.fit(X)
    assert warm.divergence_ <= best.divergence_ * 1.001


def test_the_range_contains_the_planted_rank(planted, tmp_path):
    V, W = planted
    found = klnmf.rank(V, range(1, 6), replicates=3)
    assert found.range[0] <= 3 <= found.range[1] and found.counts and not found.still_falling
    assert found.table["rank"].tolist() == [1, 2, 3, 4, 5]
    assert found.dispersion.phi == pytest.approx(1, abs=0.15)
    assert min(pair.cosine for pair in klnmf.match(W, found.models[3][0])) > 0.95
    assert "range=" in repr(found)
    # Sparse data, other numbers of threads and files give the same.
    sparse = klnmf.rank(scipy.sparse.csc_matrix(V), range(1, 6), replicates=3, threads=1)
    assert sparse.range == found.range
    stored = klnmf.rank(V, range(1, 6), replicates=3, folder=tmp_path / "fits")
    assert np.array_equal(stored.table["held_out"], found.table["held_out"])
    assert np.array_equal(klnmf.load(tmp_path / "fits" / "fits" / "r03-start000.npz").W.shape, (30, 3))
    with pytest.raises(ValueError, match="other settings"):
        klnmf.rank(V, [1], seed=9, folder=tmp_path / "fits")


def test_what_is_not_counts_is_judged_by_stability(planted):
    found = klnmf.rank(planted[0] * 0.3, [2, 3], replicates=3)
    assert not found.counts and found.dispersion is None and np.isnan(found.table["held_out"]).all()
    assert found.range == (found.stable, found.stable)
    with pytest.raises(ValueError, match="does not hold counts"):
        klnmf.rank(planted[0] * 0.3, [2], bootstrap=True)


def test_consensus_parts_are_certified(planted):
    V, W = planted
    found = klnmf.consensus(V, 3, replicates=6, bootstrap=True)
    assert found.gaps.shape == (50,) and found.gaps.sum() < 1e-6 * V.sum()
    assert min(pair.cosine for pair in klnmf.match(W, found.W)) > 0.95
    assert [len(members) for members in found.members] == [6, 6, 6]
    assert klnmf.certificate(V, found.W, found.H).divergence == pytest.approx(found.divergence)
    swept = klnmf.consensus(V, 3, replicates=6, sweeps=50)
    assert swept.divergence < found.divergence
    assert klnmf.consensus(V, 1, replicates=1).silhouettes.size == 1
    with pytest.raises(ValueError, match="raise the threshold"):
        klnmf.consensus(V, 2, replicates=2, density=0)


def test_parts_are_matched_one_to_one():
    A = np.array([[1.0, 0.9], [0.0, 0.1]])
    assert [pair[:2] for pair in klnmf.match(A, A[:, ::-1])] == [(0, 1), (1, 0)]
    assert [pair[:2] for pair in klnmf.match(A, A[:, :1])] == [(0, 0)]
    with pytest.raises(ValueError, match="features"):
        klnmf.match(A, np.ones((3, 2)))


def test_one_rank_is_not_a_range(planted):
    with pytest.raises(TypeError, match=r"ranks = 4: .* range\(2, 11\)"):
        klnmf.rank(planted[0], 4)
