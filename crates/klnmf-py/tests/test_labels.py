"""Labels: where they come from, where they stay, and what they match."""

import warnings

import anndata
import klnmf
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

FEATURES = np.array([f"gene{i}" for i in range(60)])
SAMPLES = np.array([f"cell{i}" for i in range(90)])


@pytest.fixture
def V(counts):
    return pd.DataFrame(counts, index=FEATURES, columns=SAMPLES)


def sparse_frame(V):
    return pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(V.to_numpy()), V.index, V.columns)


def as_anndata(V):
    return anndata.AnnData(V.T)


KINDS = {"frame": lambda V: V, "sparse frame": sparse_frame, "AnnData": as_anndata}


def labels(found):
    return found.features.tolist(), found.samples.tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_labels_stay_on_results(V, kind):
    expected = FEATURES.tolist(), SAMPLES.tolist()
    data = KINDS[kind](V)
    model = klnmf.factorize(data, 3, max_iter=20)
    assert type(model.W) is np.ndarray and labels(model) == expected and model.parts is None
    found = klnmf.decompose(data, model)
    assert type(found.H) is np.ndarray and labels(found) == expected
    assert labels(klnmf.Decomposer(model).decompose(data)) == expected
    counts = as_anndata(V) if kind == "AnnData" else KINDS[kind](V.T)
    topics = klnmf.topics(counts, 3, max_iter=20)
    assert labels(topics) == expected
    assert labels(klnmf.topic_weights(counts, topics)) == expected


def test_arrays_have_no_labels(counts):
    model = klnmf.factorize(counts, 3, max_iter=20)
    for found in (model, klnmf.decompose(counts, model.W), klnmf.topics(counts, 3, max_iter=20)):
        assert found.features is None and found.samples is None and found.parts is None


def test_a_sparse_frame_stays_sparse(V, monkeypatch):
    seen = []
    monkeypatch.setattr(klnmf._core, "matrix", lambda V, **_: seen.append(sp.issparse(V)) or V)
    klnmf.factorize(sparse_frame(V), 2, max_iter=1)
    assert seen == [True]


def test_frames_of_results(V):
    model = klnmf.factorize(V, 3, max_iter=20)
    W, H = model.to_frames()
    np.testing.assert_array_equal(W.loc["gene7"], model.W[7])
    np.testing.assert_array_equal(H["cell5"], model.H[:, 5])
    assert W.columns.tolist() == H.index.tolist() == ["part1", "part2", "part3"]
    assert klnmf.decompose(V, W).parts.tolist() == ["part1", "part2", "part3"]
    parts = W.set_axis(["a", "b", "c"], axis=1)
    found = klnmf.decompose(V, parts)
    assert found.parts.tolist() == ["a", "b", "c"]
    W, H = found.to_frames()
    assert H.loc["b", "cell3"] == found.H[1, 3] and W.loc["gene2", "c"] == model.W[2, 2]
    topics, weights = klnmf.topics(V.T, 3, max_iter=20).to_frames()
    assert topics.index.tolist() == weights.columns.tolist() == ["topic1", "topic2", "topic3"]
    assert topics.columns.tolist() == FEATURES.tolist() and weights.index.tolist() == SAMPLES.tolist()
    again = klnmf.factorize(V, init=model, max_iter=0)
    np.testing.assert_allclose(again.W, model.W)


@pytest.mark.parametrize("kind", KINDS)
def test_features_are_matched_by_name_in_any_order(V, kind):
    model = klnmf.factorize(V, 3)
    shuffled = V.sample(frac=1, random_state=1)
    assert shuffled.index.tolist() != FEATURES.tolist()
    expected = klnmf.decompose(V, model).H
    for found in (
        klnmf.decompose(KINDS[kind](shuffled), model),
        klnmf.decompose(KINDS[kind](shuffled), model.to_frames()[0]),
        klnmf.Decomposer(model).decompose(KINDS[kind](shuffled)),
    ):
        np.testing.assert_allclose(found.H, expected, rtol=1e-3, atol=1e-3)
        assert found.features.tolist() == shuffled.index.tolist()
        np.testing.assert_array_equal(found.W[0], model.W[FEATURES.tolist().index(shuffled.index[0])])


def test_matches_carry_the_labels_of_parts(V):
    model = klnmf.factorize(V, 2, max_iter=20)
    known = model.to_frames()[0].set_axis(["wind", "rain"], axis=1).iloc[::-1, ::-1]
    found = klnmf.match(known, model)
    assert [pair[:2] for pair in found] == [(0, 1), (1, 0)]
    assert [(pair.first_part, pair.second_part) for pair in found] == [("rain", None), ("wind", None)]
    named = klnmf.decompose(V, known)
    assert [pair.second_part for pair in klnmf.match(model, named)] == ["wind", "rain"]


def test_topics_are_matched_by_word(V):
    counts = V.T
    topics = klnmf.topics(counts, 3, max_iter=30)
    turned = counts.iloc[:, ::-1]
    np.testing.assert_allclose(
        klnmf.topic_weights(turned, topics).weights, klnmf.topic_weights(counts, topics).weights, atol=1e-3
    )


def test_names_on_one_side_only_give_a_warning(V):
    model = klnmf.factorize(V, 3, max_iter=20)
    for work in (
        lambda: klnmf.decompose(V, model.W),
        lambda: klnmf.decompose(V.to_numpy(), model),
        lambda: klnmf.Decomposer(model).decompose(V.to_numpy()),
        lambda: klnmf.match(model.W, model.to_frames()[0]),
    ):
        with pytest.warns(UserWarning, match="has none, so features are matched by position"):
            work()
    # Neither the numbers of a plain index nor a start of arrays are a trap.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        klnmf.decompose(pd.DataFrame(V.to_numpy()), model.W)
        klnmf.factorize(V, init=(model.W, model.H), max_iter=2)


def test_different_names_are_refused_in_one_line(V):
    model = klnmf.factorize(V, 3, max_iter=20)
    cases = [
        (V.iloc[1:], "V has no 'gene0'."),
        (V.rename({f"gene{i}": f"g{i}" for i in range(5)}), "W has no 'g0', 'g1', 'g2' and 2 more; V has no"),
        (V.rename({"gene3": "gene4"}), "V has no 'gene3'."),
    ]
    for data, text in cases:
        for work in (lambda: klnmf.decompose(data, model), lambda: klnmf.Decomposer(model).decompose(data)):
            with pytest.raises(ValueError) as caught:
                work()
            assert text in str(caught.value) and "\n" not in str(caught.value)
            assert str(caught.value).startswith("the labels of V and W differ")
    twice = pd.concat([V, V.iloc[:1]])
    W = klnmf.factorize(twice, 2, max_iter=5).to_frames()[0]
    assert klnmf.decompose(twice, W).H.shape == (2, 90)
    with pytest.raises(ValueError, match="'gene0' occurs twice"):
        klnmf.decompose(twice.iloc[::-1], W)


def test_labels_that_are_not_text_match_what_a_file_gives_back(V, tmp_path):
    numbered = V.set_axis(range(100, 160), axis=0)
    model = klnmf.factorize(numbered, 3)
    model.save(tmp_path / "model.npz")
    again = klnmf.load(tmp_path / "model.npz")
    assert again.features[0] == "100"
    found = klnmf.decompose(numbered.iloc[::-1], again)
    np.testing.assert_allclose(found.H, klnmf.decompose(numbered, model).H, rtol=1e-3, atol=1e-3)


def test_estimators_label_their_results(V):
    X = V.T
    model = klnmf.KLNMF(3, random_state=0).fit(X)
    assert labels(model.decompose(X)) == (FEATURES.tolist(), SAMPLES.tolist())
    topics = klnmf.TopicModel(3, random_state=0).fit(X)
    assert labels(topics.weights(X)) == (FEATURES.tolist(), SAMPLES.tolist())
    plain = klnmf.TopicModel(3, topic_prior=0, random_state=0).fit(X)
    assert labels(plain.weights(X))[0] == FEATURES.tolist()
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        assert model.decompose(X.to_numpy()[:2]).samples is None


@pytest.mark.parametrize("make", [klnmf.KLNMF, klnmf.TopicModel])
def test_scikit_learn_names(V, make):
    X = V.T
    model = make(3, random_state=0).set_output(transform="pandas").fit(X)
    assert model.n_features_in_ == 60 and model.feature_names_in_.tolist() == FEATURES.tolist()
    names = [f"{make.__name__.lower()}{k}" for k in range(3)]
    assert model.get_feature_names_out().tolist() == names
    out = model.transform(X)
    assert out.columns.tolist() == names and out.index.tolist() == SAMPLES.tolist()
    for wrong, text in (
        (X.iloc[:, ::-1], "Feature names must be in the same order as they were in fit"),
        (X.rename(columns={"gene0": "other"}), "Feature names unseen at fit time:\n- other"),
        (X.drop(columns="gene0"), "Feature names seen at fit time, yet now missing:\n- gene0"),
    ):
        with pytest.raises(ValueError, match=text):
            model.transform(wrong)


def test_scanpy_programmes_are_matched_by_gene(V):
    adata = as_anndata(V)
    klnmf.scanpy.nmf(adata, n_components=3, seed=0)
    programmes = pd.DataFrame(adata.varm["nmf"], index=adata.var_names)
    found = klnmf.decompose(adata[:, ::-1], programmes)
    np.testing.assert_allclose(found.H, klnmf.decompose(adata, programmes).H, rtol=1e-3, atol=1e-3)
    assert found.samples.tolist() == SAMPLES.tolist()


def test_pictures_carry_the_labels(V):
    model = klnmf.factorize(V.iloc[:20], 2)
    figure = klnmf.plot.bars(model)
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()][:2] == ["gene0", "gene1"]
    best = FEATURES[model.W[:, 0].argmax()]
    assert klnmf.plot.words(model, n=2).axes[0].get_yticklabels()[0].get_text() == best
    named = klnmf.decompose(V.iloc[:20], model.to_frames()[0].set_axis(["left", "right"], axis=1))
    assert klnmf.plot.bars(named).axes[1].get_ylabel() == "right"
    assert klnmf.plot.bars(model).axes[1].get_ylabel() == "part2"
    legend = klnmf.plot.structure(model).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["part1", "part2"]
    assert klnmf.plot.words(named, n=2).axes[1].get_title() == "right"


@pytest.mark.parametrize("storage", [sp.csr_matrix, sp.csc_matrix])
def test_scikit_learns_init_is_meant_as_there(counts, storage):
    from klnmf.sklearn import non_negative_factorization as factor

    thin = np.where(counts > 2, counts, 0)
    for X in (counts, thin):
        X = X[X.sum(axis=1) > 0]
        for options in ({"n_components": 4}, {"n_components": 61}, {"n_components": 4, "init": "random"}):
            options |= {"random_state": 0, "max_iter": 60, "tol": 0}
            dense, sparse = factor(X, **options), factor(storage(X), **options)
            for one, other in zip(dense[:2], sparse[:2], strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
            if "init" not in options:
                how = "nndsvda" if options["n_components"] == 4 else "random"
                np.testing.assert_array_equal(dense[0], factor(X, init=how, **options)[0])


def test_errors_name_the_labels(V):
    bad = V.astype(float)
    bad.iloc[7, 5] = -1
    where = r"V\[7, 5\] = -1 is negative .*; it is in row 'gene7', column 'cell5'"
    W = np.ones((60, 2))
    for work in (
        lambda: klnmf.factorize(bad, 2),
        lambda: klnmf.decompose(bad, W),
        lambda: klnmf.Decomposer(W).decompose(bad),
    ):
        with pytest.raises(ValueError, match=where):
            work()
    with pytest.raises(ValueError) as caught:
        klnmf.factorize(bad.to_numpy(), 2)
    assert "it is in" not in str(caught.value)


def test_a_column_of_names_is_an_error_that_names_it(V):
    frame = V.reset_index(names="gene")
    with pytest.raises(ValueError, match="column 'gene' of the data frame.*set_index"):
        klnmf.factorize(frame, 2)
    whole = klnmf.factorize(V, 2, max_iter=10)
    mixed = klnmf.factorize(V.astype(object), 2, max_iter=10)
    assert np.array_equal(whole.W, mixed.W)
