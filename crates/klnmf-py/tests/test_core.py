"""The functions: what they take, what they give, what they refuse."""

import io
import re
from typing import get_args

import klnmf
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from klnmf import _choices, _klnmf
from tqdm import tqdm


def divergence(V, W, H):
    WH = W @ H
    positive = V > 0
    return (V[positive] * np.log(V[positive] / WH[positive])).sum() - V.sum() + WH.sum()


def test_factorize_certifies(counts):
    model = klnmf.factorize(counts, 4)
    assert model.status == "converged" and model.converged
    assert model.W.shape == (60, 4) and model.H.shape == (4, 90)
    assert (model.W >= 0).all() and (model.H >= 0).all()
    np.testing.assert_allclose(model.W.sum(axis=0), 1)
    np.testing.assert_allclose(model.divergence, divergence(counts, model.W, model.H))
    assert model.relative_gap <= 3e-3
    assert model.relative_gap == max(model.gap_w, model.gap_h) / model.divergence
    assert tuple(klnmf.certificate(counts, model.W, model.H)) == pytest.approx(
        (model.divergence, model.gap_w, model.gap_h), rel=1e-6, abs=1e-6
    )


def shares(model):
    return model.W.sum(axis=0) * model.H.sum(axis=1)


@pytest.mark.parametrize("seed", range(4))
def test_the_largest_part_comes_first(counts, seed):
    assert (np.diff(shares(klnmf.factorize(counts, 4, seed=seed))) <= 0).all()


def test_given_parts_keep_their_order(counts):
    model = klnmf.factorize(counts, 4)
    again = klnmf.factorize(counts, init=(model.W[:, ::-1], model.H[::-1]), max_iter=20)
    np.testing.assert_allclose(again.W, model.W[:, ::-1], atol=0.05)
    assert (np.diff(shares(again)) >= 0).all()
    known = klnmf.factorize(counts, init=(model.W[:, ::-1], model.H[::-1]), fixed=1, max_iter=20)
    np.testing.assert_array_equal(known.W[:, 0], model.W[:, -1])


def test_n_jobs_is_another_name_of_threads(counts):
    expected = klnmf.factorize(counts, 3, threads=1, max_iter=20)
    for options in ({"n_jobs": 1}, {"n_jobs": -1}, {"n_jobs": -1000}, {"n_jobs": 2, "threads": 2}):
        np.testing.assert_array_equal(klnmf.factorize(counts, 3, max_iter=20, **options).W, expected.W)
    assert klnmf.memory(counts, 3, n_jobs=2) == klnmf.memory(counts, 3, threads=2)
    assert klnmf.memory(counts, 3, n_jobs=-1) == klnmf.memory(counts, 3)
    assert klnmf.Decomposer(expected.W, n_jobs=2).threads == 2
    for call in (
        lambda **options: klnmf.factorize(counts, 3, **options),
        lambda **options: klnmf.decompose(counts, expected.W, **options),
        lambda **options: klnmf.certificate(counts, expected.W, expected.H, **options),
        lambda **options: klnmf.init(counts, 3, **options),
        lambda **options: klnmf.topics(counts.T, 3, **options),
        lambda **options: klnmf.topic_weights(counts.T, expected.W.T, **options),
        lambda **options: klnmf.spectrogram(np.ones(8000), 8000, **options),
        lambda **options: klnmf.separate(np.ones(8000), 8000, 2, **options),
        lambda **options: klnmf.Decomposer(expected.W, **options),
        lambda **options: klnmf.KLNMF(3, **options).fit(counts),
        lambda **options: klnmf.TopicModel(3, **options).fit(counts),
    ):
        with pytest.raises(ValueError, match="threads = 1 and n_jobs = 2 are two names of one option"):
            call(threads=1, n_jobs=2)
        with pytest.raises(ValueError, match="n_jobs = 0"):
            call(n_jobs=0)
    with pytest.raises(TypeError, match="n_jobs = 1.5"):
        klnmf.factorize(counts, 3, n_jobs=1.5)


def test_trace_has_one_record_for_every_certificate(counts):
    model = klnmf.factorize(counts, 4, check_every=5, max_iter=20, tol=0)
    assert model.trace["iteration"].tolist() == [0, 5, 10, 15, 20]
    assert (np.diff(model.trace["divergence"]) <= 0).all()
    assert model.status == "iteration limit" and model.iterations == 20


LAYOUTS = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "list": lambda V: V.tolist(),
    "strided": lambda V: np.repeat(V, 2, axis=1)[:, ::2],
    "readonly": lambda V: np.lib.stride_tricks.as_strided(V, writeable=False),
    "big endian": lambda V: V.astype(">f8"),
    "int": lambda V: V.astype(np.int32),
    "uint8": lambda V: V.astype(np.uint8),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_dense_layouts_agree(counts, layout):
    expected = klnmf.factorize(counts, 3, max_iter=30)
    found = klnmf.factorize(LAYOUTS[layout](counts), 3, max_iter=30)
    assert found.W.dtype == np.float64
    np.testing.assert_allclose(found.W, expected.W, atol=1e-12)
    np.testing.assert_allclose(found.H, expected.H, atol=1e-9)


def shuffled(V):
    """CSR with the indices of every row backwards, and one entry cut in two."""
    V = sp.csr_matrix(V)
    rows = [slice(*V.indptr[i : i + 2]) for i in range(V.shape[0])]
    indices = np.concatenate([V.indices[r][::-1] for r in rows])
    data = np.concatenate([V.data[r][::-1] for r in rows])
    half = data[0] / 2
    data[0] = half
    matrix = sp.csr_matrix(V.shape)
    matrix.data = np.concatenate([[half], data])
    matrix.indices = np.concatenate([indices[:1], indices])
    matrix.indptr = V.indptr + (np.arange(V.shape[0] + 1) > 0).astype(V.indptr.dtype)
    return matrix


def with_zeros(V):
    """CSC that stores every zero."""
    n, m = V.shape
    return sp.csc_matrix((V.T.ravel(), np.tile(np.arange(n), m), np.arange(0, n * m + 1, n)), V.shape)


def wide(V):
    V = sp.csr_array(V)
    V.indices, V.indptr = V.indices.astype(np.int64), V.indptr.astype(np.int64)
    return V


def rebuilt(V, change=np.asarray, index=np.int32):
    """CSR with changed arrays and indices of this type, behind scipy's back."""
    V = sp.csr_matrix(V)
    indices, indptr = V.indices.astype(index), V.indptr.astype(index)
    V.data, V.indices, V.indptr = change(V.data), change(indices), indptr
    return V


SPARSE = {
    "csr": sp.csr_matrix,
    "csc": sp.csc_matrix,
    "csr_array": sp.csr_array,
    "coo": sp.coo_matrix,
    "lil": sp.lil_matrix,
    "int64 indices": wide,
    "int values": lambda V: sp.csr_matrix(V.astype(int)),
    "unsorted, duplicates": shuffled,
    "explicit zeros": with_zeros,
    "transposed": lambda V: sp.csr_matrix(np.ascontiguousarray(V.T)).T,
    "room at the end": lambda V: rebuilt(V, lambda part: np.append(part, part[:3])),
    "strided": lambda V: rebuilt(V, lambda part: np.repeat(part, 2)[::2]),
    "uint32 indices": lambda V: rebuilt(V, index=np.uint32),
}


@pytest.mark.parametrize("layout", SPARSE)
def test_sparse_layouts_agree(counts, layout):
    V = SPARSE[layout](counts)
    np.testing.assert_array_equal(V.toarray(), counts)
    expected = klnmf.factorize(sp.csc_matrix(counts), 3, max_iter=30, mixed=False)
    found = klnmf.factorize(V, 3, max_iter=30, mixed=False)
    np.testing.assert_allclose(found.W, expected.W, atol=1e-9)
    np.testing.assert_allclose(found.H, expected.H, atol=1e-6)


def test_dense_equals_sparse(counts):
    dense = klnmf.factorize(counts, 3, max_iter=30, solver="mu")
    sparse = klnmf.factorize(sp.csr_matrix(counts), 3, max_iter=30, solver="mu")
    np.testing.assert_allclose(dense.W, sparse.W, atol=1e-10)


@pytest.mark.parametrize("kind", [np.float16, np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_single_precision_stays_single(counts, kind):
    V = kind(counts.astype(np.float32))
    model = klnmf.factorize(V, 3)
    assert model.W.dtype == model.H.dtype == np.float32
    assert klnmf.decompose(V, model.W).H.dtype == np.float32
    assert model.divergence == pytest.approx(klnmf.factorize(counts, 3).divergence, rel=0.05)


def test_factors_are_not_rounded_to_the_precision_of_the_data():
    V, W = np.ones((4, 3), dtype=np.float32), np.full((4, 1), 0.5)
    W[3] = 1e-50
    assert np.isfinite(klnmf.certificate(V, W, np.ones((1, 3))).divergence)
    assert np.isfinite(klnmf.decompose(V, W).divergence)


def test_data_frames_are_matched_by_label(counts):
    model = klnmf.factorize(counts, 4)
    rows, columns = [f"row{i}" for i in range(60)], [f"sample{i}" for i in range(90)]
    V = pd.DataFrame(counts, index=rows, columns=columns)
    W = pd.DataFrame(model.W, index=rows)[::-1]
    H = pd.DataFrame(model.H, columns=columns).iloc[:, ::-1]
    np.testing.assert_array_equal(klnmf.decompose(V, W).H, klnmf.decompose(counts, model.W).H)
    with pytest.warns(UserWarning, match="matched by position"):
        by_position = klnmf.decompose(V, W.to_numpy()[::-1])
    np.testing.assert_array_equal(by_position.H, klnmf.decompose(V, W).H)
    assert klnmf.certificate(V, W, H) == klnmf.certificate(counts, model.W, model.H)
    start = klnmf.factorize(V, init=(W, H), max_iter=0)
    assert start.divergence == pytest.approx(model.divergence)
    for wrong in (W.iloc[:-1], W.rename({"row3": "row03"}), W.rename({"row3": "row4"})):
        with pytest.raises(ValueError, match="the labels of V and W differ: W has no 'row(0|3)'.*Give both"):
            klnmf.decompose(V, wrong)
    with pytest.raises(ValueError, match="the labels of V and W differ: V has no 'row3'"):
        klnmf.decompose(V.drop("row3"), W)


def test_nothing_is_written(counts):
    for V in (counts, np.asfortranarray(counts), sp.csr_matrix(counts), shuffled(counts)):
        before = V.copy()
        klnmf.decompose(V, klnmf.factorize(V, 3, max_iter=10).W)
        if sp.issparse(V):
            for name in ("data", "indices", "indptr"):
                np.testing.assert_array_equal(getattr(V, name), getattr(before, name))
        else:
            np.testing.assert_array_equal(V, before)


def test_same_seed_same_bits(counts):
    runs = [klnmf.factorize(counts, 4, seed=3, threads=threads) for threads in (1, 2, 3)]
    for run in runs[1:]:
        assert run.W.tobytes() == runs[0].W.tobytes() and run.H.tobytes() == runs[0].H.tobytes()
    assert klnmf.factorize(counts, 4, seed=4).divergence != runs[0].divergence


def test_start_from_given_factors(counts):
    W, H = klnmf.init(counts, 4, seed=7)
    found, sorted_by_share = klnmf.factorize(counts, init=(W, H)), klnmf.factorize(counts, 4, seed=7)
    order = np.argsort(-found.H.sum(axis=1), kind="stable")
    assert list(order) != [0, 1, 2, 3], "given parts keep their order"
    np.testing.assert_array_equal(found.W[:, order], sorted_by_share.W)
    assert klnmf.factorize(counts, 4, init="nndsvd").converged


def test_one_factor_fixed(counts):
    W, H = klnmf.init(counts, 4)
    found = klnmf.factorize(counts, init=(W, H), update="H")
    np.testing.assert_array_equal(found.W, W)
    assert found.converged and found.relative_gap == found.gap_h / found.divergence <= 3e-3 < found.gap_w
    seen = []
    found = klnmf.factorize(counts, init=(W, H), update="W", callback=seen.append)
    assert found.relative_gap == found.gap_w / found.divergence <= 3e-3 and seen[-1].relative_gap <= 3e-3
    found = klnmf.factorize(counts, init=(W, H), update="H")
    best = klnmf.decompose(counts, W, tol=1e-9)
    assert best.divergence <= found.divergence <= best.divergence + found.gap_h + 1e-6


def test_some_columns_fixed(counts):
    known = klnmf.factorize(counts, 2).W
    W, H = klnmf.init(counts, 4)
    W[:, :2] = known
    found = klnmf.factorize(counts, init=(W, H), fixed=2)
    np.testing.assert_array_equal(found.W[:, :2], known)
    assert found.divergence < klnmf.decompose(counts, known).divergence


def test_decompose_bounds_every_column(counts):
    W = klnmf.factorize(counts, 4).W
    found = klnmf.decompose(sp.csc_matrix(counts), W)
    assert found.status == "converged" and found.unconverged == 0
    assert (found.gaps <= 1e-6 * counts.sum(axis=0) + 1e-12).all()
    np.testing.assert_allclose(found.divergences.sum(), divergence(counts, W, found.H))
    assert found.gaps.shape == found.iterations.shape == (90,)
    assert "unconverged=0" in repr(found)


def test_sparse_factors(counts):
    model = klnmf.factorize(counts, 4)
    W, H = sp.csr_matrix(model.W), sp.csc_matrix(model.H)
    np.testing.assert_array_equal(klnmf.decompose(counts, W).H, klnmf.decompose(counts, model.W).H)
    assert klnmf.certificate(counts, W, H) == klnmf.certificate(counts, model.W, model.H)
    assert klnmf.factorize(counts, init=(W, H), max_iter=0).divergence == pytest.approx(model.divergence)


def test_decompose_says_what_did_not_converge(counts):
    W = klnmf.factorize(counts, 4).W
    found = klnmf.decompose(counts, W, tol=1e-15, max_iter=2)
    assert found.unconverged > 0 and found.status == "iteration limit"


def test_grow_keeps_the_divergence(counts):
    small = klnmf.factorize(counts, 2)
    W, H = klnmf.grow(small.W, small.H, 5, seed=1)
    assert klnmf.certificate(counts, W, H).divergence == pytest.approx(small.divergence)
    assert klnmf.factorize(counts, init=(W, H)).divergence < small.divergence
    assert klnmf.grow(small.W.astype(np.float32), small.H.astype(np.float32), 3)[0].dtype == np.float32


@pytest.mark.parametrize("solver", [name for name, _ in _klnmf.solvers()])
def test_solvers(counts, solver):
    best = klnmf.factorize(counts + 0.1, 4)
    rho = 10 if solver == "admm-authors" else None
    max_iter = 2000 if solver.endswith("-authors") else 200
    model = klnmf.factorize(counts + 0.1, 4, solver=solver, max_iter=max_iter, rho=rho)
    assert best.converged and 0.98 * best.divergence <= model.divergence <= 1.02 * best.divergence
    assert model.divergence == pytest.approx(divergence(counts + 0.1, model.W, model.H))


def test_solver_names_are_those_of_the_library():
    names = [name for name, _ in _klnmf.solvers()]
    assert list(get_args(_choices.Solver)) == names
    listed = klnmf.factorize.__doc__.partition("solver : {")[2].partition("}")[0]
    assert re.findall(r"'([^']+)'", listed) == names
    assert all(help for _, help in _klnmf.solvers())
    for name in names:
        rho = 10 if name == "admm-authors" else None
        assert klnmf.factorize(np.ones((3, 4)), 1, solver=name, max_iter=2, rho=rho).W.shape == (3, 1)
    for name in ["", "Auto", "cd", "fpa_authors", "paper"]:
        with pytest.raises(ValueError, match="choose " + ", ".join(names)):
            klnmf.factorize(np.ones((3, 4)), 1, solver=name)
        with pytest.raises(ValueError, match="choose " + ", ".join(names)):
            klnmf.topics(np.ones((3, 4)), 1, solver=name)
    with pytest.raises(TypeError, match="paper"):
        klnmf.factorize(np.ones((3, 4)), 1, paper=True)


def test_precision_is_the_one_of_the_work(counts):
    def used(V, **options):
        return klnmf.factorize(V, 3, tol=1e-9, max_iter=2000, **options).info.precision

    assert used(counts) == "mixed"
    assert used(counts, mixed=False) == "f64"
    assert used(counts.astype(np.float32)) == "f32"
    wide = counts.astype(float)
    wide[0, 0] = 1e-30
    assert used(wide, mixed=True) == "f64"
    assert used(counts, mixed=True, update="H") == "f64"


def test_certificate_takes_threads(counts):
    model = klnmf.factorize(counts, 3, max_iter=20)
    one = klnmf.certificate(counts, model.W, model.H, threads=1)
    assert one == klnmf.certificate(counts, model.W, model.H) == klnmf.certificate(
        counts, model.W, model.H, threads=2
    )


def test_callback_watches_and_stops(counts):
    seen = []
    model = klnmf.factorize(counts, 4, callback=seen.append)
    assert [info.iteration for info in seen] == model.trace["iteration"].tolist()
    assert seen[-1].relative_gap <= 3e-3
    assert klnmf.factorize(counts, 4, callback=lambda info: info.iteration >= 10).status == "stopped"
    with pytest.raises(ZeroDivisionError):
        klnmf.factorize(counts, 4, callback=lambda info: 1 / 0)


def test_limits(counts):
    assert klnmf.factorize(counts, 4, tol=0, max_iter=10**9, time_limit=0.05).status == "time limit"
    assert klnmf.decompose(counts, np.ones((60, 1)), time_limit=0, tol=0).status == "time limit"


def test_progress(counts, capsys):
    model = klnmf.factorize(counts, 4, progress=True)
    klnmf.decompose(counts, model.W, progress=True)
    assert "iteration" in capsys.readouterr().err


def test_progress_comes_to_its_end(counts, monkeypatch):
    bars = []

    def bar(total, unit):
        bars.append(tqdm(total=total, unit=unit, leave=False, file=io.StringIO()))
        return bars[-1]

    monkeypatch.setattr(klnmf._progress, "_bar", bar)
    model = klnmf.factorize(counts, 4, progress=True)
    klnmf.decompose(counts, model.W, progress=True)
    assert [bar.n for bar in bars] == [model.iterations, counts.shape[1]]
    with pytest.raises(ZeroDivisionError):
        klnmf.factorize(counts, 4, progress=True, callback=lambda info: 1 / 0)
    assert all(bar.disable for bar in bars)  # closed


def test_memory(counts):
    memory = klnmf.memory(sp.csr_matrix(counts.astype(np.float32)), 10, threads=2)
    assert memory.factors == 4 * 10 * 150
    assert memory.total == 2 * memory.v + 12 * memory.factors + memory.workspace
    assert klnmf.memory(counts.astype(np.uint8), 10, threads=2) == klnmf.memory(counts, 10, threads=2)


def test_what_cannot_fit_is_refused(counts, monkeypatch):
    monkeypatch.setattr(klnmf._memory, "_free_memory", lambda: 10**6)
    text = r"rank 3 needs up to [\d,]+ bytes more memory and 1,000,000 bytes are free: choose a smaller"
    for call in (
        lambda: klnmf.factorize(counts, 3),
        lambda: klnmf.factorize(counts, init=(np.ones((60, 3)), np.ones((3, 90)))),
        lambda: klnmf.topics(counts, 3),
        lambda: klnmf.KLNMF(3).fit(counts),
        lambda: klnmf.sklearn.non_negative_factorization(counts, n_components=3),
    ):
        with pytest.raises(MemoryError, match=text):
            call()
    monkeypatch.setattr(klnmf._memory, "_free_memory", lambda: None)
    assert klnmf.factorize(counts, 3).converged


V = np.ones((3, 4))
MINUS = np.where(np.arange(12).reshape(3, 4) == 6, -5, 1)
TURNED = np.ones((4, 1)), np.ones((1, 3))
PAIR = np.ones((3, 1)), np.ones((1, 4))
NAN = V * [1, 1, np.nan, 1]
BACKWARDS = sp.csr_matrix(V)
BACKWARDS.indices[2] = -1
ERRORS = [
    (ValueError, "V[1, 2] = -5 is negative", lambda: klnmf.factorize(MINUS, 1)),
    (ValueError, "V[0, 2] = NaN is not a finite number", lambda: klnmf.factorize(NAN, 1)),
    (ValueError, "rank = 0: a whole number ≥ 1", lambda: klnmf.factorize(V, 0)),
    (ValueError, f"rank = {2**70}: at most 12", lambda: klnmf.factorize(V, 2**70)),
    (ValueError, f"seed = {2**64}: at most", lambda: klnmf.factorize(V, 1, seed=2**64)),
    (ValueError, "the matrix is empty (0 × 4)", lambda: klnmf.factorize(V[:0], 1)),
    (ValueError, "V has 1 dimensions", lambda: klnmf.factorize(V[0], 1)),
    (ValueError, "index 4294967295 in line 0", lambda: klnmf.factorize(BACKWARDS, 1)),
    (ValueError, "solver = cd: choose auto, fpa", lambda: klnmf.factorize(V, 1, solver="cd")),
    (ValueError, "init = svd: random, nndsvd", lambda: klnmf.factorize(V, 1, init="svd")),
    (ValueError, "update = X: choose both, W or H", lambda: klnmf.factorize(V, 1, update="X")),
    (ValueError, "tol = -1: a finite number ≥ 0", lambda: klnmf.factorize(V, 1, tol=-1)),
    (ValueError, "max_iter = -1: a whole number ≥ 0", lambda: klnmf.factorize(V, 1, max_iter=-1)),
    (ValueError, "inner = 0: at least 1", lambda: klnmf.factorize(V, 1, inner=0)),
    (ValueError, "time_limit = -1: a finite number", lambda: klnmf.factorize(V, 1, time_limit=-1)),
    (ValueError, "threads = 5000: at most 1024", lambda: klnmf.factorize(V, 1, threads=5000)),
    (ValueError, "they fit the transpose of V", lambda: klnmf.certificate(V, *TURNED)),
    (ValueError, "W[0, 0] = -1: factors must be finite", lambda: klnmf.decompose(V, -np.ones((3, 1)))),
    (ValueError, "row 1 of the dictionary is zero", lambda: klnmf.decompose(V, [[1.0], [0.0], [1.0]])),
    (ValueError, "a model can only grow", lambda: klnmf.grow(np.ones((3, 2)), np.ones((2, 4)), 1)),
    (ValueError, "admm works on dense", lambda: klnmf.factorize(sp.csr_matrix(V), 1, solver="admm")),
    (ValueError, "rank = 2: W has 1 columns", lambda: klnmf.factorize(V, 2, init=PAIR)),
    (TypeError, "rank is missing", lambda: klnmf.factorize(V)),
    (TypeError, "rank = 1.5: a whole number", lambda: klnmf.factorize(V, 1.5)),
    (TypeError, "V holds complex numbers", lambda: klnmf.factorize(V * 1j, 1)),
    (TypeError, "W holds complex numbers", lambda: klnmf.decompose(V, V[:, :1] * 1j)),
    (TypeError, "H holds complex numbers", lambda: klnmf.factorize(V, init=(PAIR[0], PAIR[1] * 1j))),
    (TypeError, "W holds complex numbers", lambda: klnmf.grow(PAIR[0] * 1j, PAIR[1], 2)),
    (ValueError, "tol = None: a finite number", lambda: klnmf.factorize(V, 1, tol=None)),
    (ValueError, "tol = '1e-3': a finite number", lambda: klnmf.decompose(V, PAIR[0], tol="1e-3")),
    (TypeError, "solver is of type NoneType", lambda: klnmf.factorize(V, 1, solver=None)),
    (TypeError, "init is of type NoneType: give 'random'", lambda: klnmf.factorize(V, 1, init=None)),
    (TypeError, "init is of type ndarray: give 'random'", lambda: klnmf.factorize(V, 1, init=PAIR[0])),
    (TypeError, "how is of type NoneType", lambda: klnmf.init(V, 1, how=None)),
    (TypeError, "V is a path: read the file first", lambda: klnmf.factorize("counts.npy", 1)),
    (ValueError, "V has 0 dimensions", lambda: klnmf.factorize(None, 1)),
    (ValueError, "V has 1 dimensions", lambda: klnmf.factorize(sp.coo_array(V[0]).tocsr(), 1)),
]  # fmt: skip


@pytest.mark.parametrize("kind, text, call", ERRORS, ids=[text for _, text, _ in ERRORS])
def test_errors_say_what_where_and_what_to_do(kind, text, call):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)
