"""KLNMF and TopicModel as scikit-learn's users know estimators."""

import pickle
import warnings

import klnmf
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from klnmf import KLNMF, TopicModel
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

ESTIMATORS = [KLNMF(), TopicModel()]


def outcomes(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks = check_estimator(estimator, on_fail=None)
    return {(check["check_name"], i): check["status"] for i, check in enumerate(checks)}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_check_estimator(estimator):
    ours, theirs = outcomes(estimator), outcomes(NMF(solver="mu", beta_loss="kullback-leibler"))
    assert "failed" not in ours.values() and "xfail" not in ours.values()
    skipped = {name for (name, _), status in ours.items() if status == "skipped"}
    passed = {name for (name, _), status in theirs.items() if status == "passed"}
    assert not skipped & passed


@pytest.fixture
def X(counts):
    return counts.T


def test_fit_is_factorize_of_the_transpose(X):
    model = KLNMF(4, random_state=5).fit(X)
    found = klnmf.factorize(X.T, 4, seed=5)
    np.testing.assert_array_equal(model.components_, found.W.T)
    assert model.divergence_ == found.divergence
    assert model.reconstruction_err_ == pytest.approx(np.sqrt(2 * found.divergence))
    assert (model.gap_, model.gap_components_, model.gap_weights_) == (
        found.relative_gap,
        found.gap_w,
        found.gap_h,
    )
    assert model.n_iter_ == found.iterations and model.status_ == "converged"
    assert model.n_components_ == 4 and model.n_features_in_ == 60


def test_transform_is_certified(X):
    model = KLNMF(4, random_state=0).fit(X)
    weights = model.transform(X)
    best = klnmf.decompose(X.T, model.components_.T, tol=1e-10)
    np.testing.assert_allclose(model.decompose(X).divergence, best.divergence, rtol=1e-6)
    np.testing.assert_allclose(weights, model.decompose(X).H.T)
    assert (model.decompose(X).gaps <= 1e-6 * X.sum(axis=1) + 1e-12).all()
    np.testing.assert_allclose(model.inverse_transform(weights), weights @ model.components_)


def test_transform_warns_with_the_number_of_rows(X):
    model = KLNMF(4, random_state=0, transform_tol=1e-15, transform_max_iter=1).fit(X)
    above = model.set_params(transform_max_iter=1)
    with pytest.warns(ConvergenceWarning, match=r"\d+ of 90 rows have a gap above the tolerance"):
        above.transform(X)


def test_fit_warns_at_the_limit(X):
    with pytest.warns(ConvergenceWarning, match="Maximum number of iterations 3 reached.*tol is 3.0e-03"):
        KLNMF(4, max_iter=3).fit(X)
    with pytest.warns(ConvergenceWarning, match="Maximum number of iterations 12 reached"):
        TopicModel(4, max_iter=12, tol=1e-9).fit(X)


def test_features_that_no_component_has(X):
    seen = X.copy()
    seen[:, 7] = 0
    model = KLNMF(3, random_state=0).fit(seen)
    with pytest.warns(UserWarning, match="1 of 60 features occur in X but in no component .* column 7"):
        weights = model.transform(sp.csr_matrix(X))
    np.testing.assert_allclose(weights, model.transform(sp.csr_matrix(seen)), rtol=1e-4, atol=1e-3)


def test_rows_with_unknown_features_have_an_infinite_divergence(X):
    seen, rows = X.copy(), X[:, 7] > 0
    seen[:, 7] = 0
    model = KLNMF(3, random_state=0).fit(seen)
    with pytest.warns(UserWarning, match="in no component"):
        found = model.decompose(X)
    assert rows.any() and not rows.all()
    np.testing.assert_array_equal(np.isinf(found.divergences), rows)


def test_score_leaves_out_unknown_features(X):
    seen, known = X.copy(), np.arange(60) != 7
    seen[:, 7] = 0
    model = KLNMF(3, random_state=0).fit(seen)
    with pytest.warns(UserWarning, match="in no component .* left out"):
        score = model.score(X)
    assert score == pytest.approx(KLNMF(3, random_state=0).fit(X[:, known]).score(X[:, known]), rel=1e-2)
    assert score == pytest.approx(model.score(seen), rel=1e-6)


def test_search_compares_fits_that_lack_a_feature(X):
    rare = X.copy()
    rare[1:, 7], rare[0, 7] = 0, 5
    search = GridSearchCV(KLNMF(random_state=0), {"n_components": [1, 3]}, cv=3)
    with pytest.warns(UserWarning, match="in no component"):
        search.fit(rare)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_params_ == {"n_components": 3}


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_documents_with_unknown_words_are_impossible(X, kind):
    seen, rows = X.copy(), X[:, 7] > 0
    seen[:, 7] = 0
    model = TopicModel(3, word_prior=0, random_state=0).fit(seen)
    with pytest.warns(UserWarning, match="in no component"):
        found = model.weights(kind(X))
        np.testing.assert_array_equal(found.log_likelihood == -np.inf, rows)
        assert found.topics.shape == (3, 60) and found.words == X.sum()
        assert model.score(kind(X)) == -np.inf and model.perplexity(kind(X)) == np.inf
        np.testing.assert_allclose(model.transform(kind(X)).sum(axis=1), 1)
    alone = np.zeros((1, 60))
    alone[0, 7] = 3
    with pytest.warns(UserWarning, match="in no component"):
        assert model.score(alone) == -np.inf


def test_search_does_not_prefer_what_makes_documents_impossible(X):
    rare = X * (np.random.default_rng(0).random(X.shape) < 0.03)
    search = GridSearchCV(TopicModel(3, random_state=0), {"word_prior": [0, 0.1]}, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(rare)
    assert search.best_params_ == {"word_prior": 0.1}
    assert search.cv_results_["mean_test_score"][0] == -np.inf


def test_transform_in_single_precision_of_a_model_in_double(X):
    model = KLNMF(3, random_state=0).fit(X)
    model.components_[:, 5] = 1e-50
    found = model.transform(X.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, model.transform(X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("make", [KLNMF, TopicModel])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csc_matrix, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept(X, make, kind, dtype):
    data = kind(X.astype(dtype))
    model = make(3, random_state=0)
    assert model.fit_transform(data).dtype == dtype
    assert model.components_.dtype == dtype
    assert model.transform(data).dtype == dtype


@pytest.mark.parametrize("make", [KLNMF, TopicModel])
def test_pickle_and_clone(X, make):
    model = make(3, random_state=0).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X), model.transform(X))
    fresh = clone(model)
    with pytest.raises(NotFittedError):
        fresh.transform(X)
    np.testing.assert_array_equal(fresh.fit(X).components_, model.components_)


@pytest.mark.parametrize("make", [KLNMF, TopicModel])
def test_names_and_output(X, make):
    frame = pd.DataFrame(X, columns=[f"gene{i}" for i in range(60)], index=[f"cell{i}" for i in range(90)])
    model = make(3, random_state=0).set_output(transform="pandas").fit(frame)
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    names = [f"{make.__name__.lower()}{i}" for i in range(3)]
    assert model.get_feature_names_out().tolist() == names
    out = model.transform(frame)
    assert out.index.equals(frame.index) and out.columns.tolist() == names


def test_score_is_minus_the_divergence_of_a_sample(X):
    model = KLNMF(3, random_state=0).fit(X[:60])
    rest = X[60:]
    W = model.transform(rest) @ model.components_
    logs = np.where(rest > 0, rest * np.log(np.where(rest > 0, rest, 1) / W), 0)
    assert model.score(rest) == pytest.approx(-(logs - rest + W).sum() / len(rest), rel=1e-6)
    search = GridSearchCV(KLNMF(random_state=0), {"n_components": [1, 4]}, cv=3).fit(X)
    assert search.best_params_ == {"n_components": 4} and search.best_score_ < 0


def test_random_state(X):
    first = KLNMF(3, random_state=np.random.RandomState(1)).fit(X)
    second = KLNMF(3, random_state=np.random.RandomState(1)).fit(X)
    np.testing.assert_array_equal(first.components_, second.components_)


@pytest.mark.parametrize("make", [KLNMF, TopicModel])
def test_warm_start(X, make):
    field = {KLNMF: "divergence", TopicModel: "objective"}[make]
    model = make(3, warm_start=True, random_state=0).fit(X)
    cold = model.trace_[field]
    model.fit(X)
    # The weights are found anew to a coarse tolerance.
    assert model.trace_[field][0] - cold[-1] < 0.05 * (cold[0] - cold[-1])


def test_warm_start_grows(X):
    model = KLNMF(3, warm_start=True, random_state=0).fit(X)
    before = model.divergence_
    seen = []
    model.set_params(n_components=5, callback=seen.append).fit(X)
    assert model.components_.shape == (5, 60) and model.divergence_ < before
    assert seen[0].divergence == pytest.approx(before, rel=1e-2)


def test_warm_start_meets_new_features(X):
    seen = X.copy()
    seen[:, 7] = 0
    model = KLNMF(3, warm_start=True, random_state=0).fit(seen)
    assert model.fit(X).components_[:, 7].sum() > 0


def test_custom_start(X):
    H, W = klnmf.init(X.T, 3)
    model = KLNMF(init="custom").fit(X, W=W.T, H=H.T)
    np.testing.assert_array_equal(model.components_, klnmf.factorize(X.T, init=(H, W)).W.T)


def test_custom_start_that_was_not_asked_for(X):
    H, W = klnmf.init(X.T, 3)
    with pytest.warns(RuntimeWarning, match="provided W or H are ignored"):
        KLNMF(3, random_state=0).fit(X, W=W.T, H=H.T)


def test_custom_start_comes_before_the_warm_one(X):
    H, W = klnmf.init(X.T, 3, seed=9)
    model = KLNMF(3, init="custom", warm_start=True, max_iter=5, tol=0)
    model.fit(X, W=W.T, H=H.T)
    expected = model.components_
    np.testing.assert_array_equal(model.fit(X, W=W.T, H=H.T).components_, expected)
    assert model.fit(X).divergence_ < klnmf.factorize(X.T, init=(H, W), max_iter=5, tol=0).divergence


def test_warnings_point_to_the_line_of_the_user(X):
    seen = X.copy()
    seen[:, 7] = 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        KLNMF(3, max_iter=1).fit(X)
        make_pipeline(KLNMF(3, max_iter=1)).fit(X)
        TopicModel(4, max_iter=12, tol=1e-9).fit(X)
        KLNMF(3, random_state=0).fit(seen).transform(X)
        TopicModel(3, word_prior=0).fit(seen).score(X)
        klnmf.sklearn.non_negative_factorization(X, n_components=3, max_iter=1)
        klnmf.sklearn.non_negative_factorization(X, np.ones((90, 3)), np.ones((3, 60)), update_H=False)
    assert len(caught) >= 7
    assert {warning.filename for warning in caught} == {__file__}


def test_pipeline_and_search(X):
    search = GridSearchCV(TopicModel(random_state=0), {"n_components": [2, 4]}, cv=2).fit(X)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert make_pipeline(KLNMF(3, random_state=0)).fit_transform(X).shape == (90, 3)


def test_errors_are_scikit_learns(X):
    with pytest.raises(ValueError, match="Negative values in data passed to X in KLNMF"):
        KLNMF(2).fit(-X)
    with pytest.raises(ValueError, match="init = 'svd': choose"):
        KLNMF(2, init="svd").fit(X)
    for make in (KLNMF, TopicModel):
        for wrong in (0, -1, 2**70):
            with pytest.raises(ValueError, match=f"n_components = {wrong}: "):
                make(wrong).fit(X)
        with pytest.raises(ValueError, match="random_state = -1: a whole number ≥ 0"):
            make(2, random_state=-1).fit(X)
    for name in ("transform_tol", "transform_max_iter"):
        with pytest.raises(ValueError, match=f"^{name} = -1: a "):
            KLNMF(2, random_state=0, **{name: -1}).fit(X).transform(X)
    with pytest.raises(ValueError, match=r"^X\[0, 2\] = 2 but \(W·H\)\[0, 2\] = 0 at the start"):
        KLNMF(2, init="custom").fit(X, W=np.ones((90, 2)), H=np.eye(2, 60))


def test_better_than_scikit_learn_from_the_same_start():
    X = load_digits().data
    rng = np.random.default_rng(0)
    W, H = rng.random((len(X), 10)), rng.random((10, 64))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = NMF(10, init="custom", solver="mu", beta_loss="kullback-leibler", max_iter=50)
        theirs.fit_transform(X, W=W.copy(), H=H.copy())
        ours = KLNMF(10, init="custom", max_iter=50).fit(X, W=W, H=H)
    assert ours.reconstruction_err_ <= theirs.reconstruction_err_


def test_topic_model(X):
    model = TopicModel(4, random_state=0).fit(X)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1)
    np.testing.assert_allclose(model.transform(X).sum(axis=1), 1)
    found = klnmf.topics(X, 4, seed=0)
    np.testing.assert_allclose(model.components_, found.topics)
    assert model.perplexity_ == pytest.approx(found.perplexity)
    assert model.perplexity(X) == pytest.approx(found.perplexity, rel=1e-4)
    assert model.score(X) == pytest.approx(found.log_likelihood.sum(), rel=1e-6)
    assert model.gap_ == pytest.approx(found.gaps.max())
    assert [len(words) for words in model.top_words(5)] == [5] * 4


def test_time_limit_of_topics(X):
    with pytest.warns(ConvergenceWarning, match="ended before its tolerance: time limit"):
        model = TopicModel(4, time_limit=0).fit(X)
    assert model.status_ == "time limit" and model.n_components_ == 4


def test_words_of_topics(X):
    model = TopicModel(4, random_state=0).fit(X)
    names = [f"word{i}" for i in range(60)]
    expected = model.top_words(3, names)
    best = np.argsort(-model.components_, axis=1)[:, :3]
    assert expected == [[names[i] for i in row] for row in best]
    assert model.top_words(3, {name: i for i, name in reversed(list(enumerate(names)))}) == expected
    assert model.top_words(3, dict(reversed(list(enumerate(names))))) == expected
    assert model.top_words(3) == [[str(i) for i in row] for row in best]
    with pytest.raises(ValueError, match="names has 59 words, the topics have 60"):
        model.top_words(3, names[1:])
