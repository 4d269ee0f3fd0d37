"""Topic models."""

import klnmf
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp


@pytest.fixture
def documents():
    """Documents of two topics that share no word but the last, and one empty document."""
    rng = np.random.default_rng(0)
    words = np.zeros((2, 21))
    words[0, :10], words[1, 10:20], words[:, 20] = 1, 1, 3
    words /= words.sum(axis=1, keepdims=True)
    mix = rng.dirichlet([0.3, 0.3], 80)
    counts = np.array([rng.multinomial(50, p) for p in mix @ words])
    return np.vstack([counts, np.zeros((1, 21), dtype=int)])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_topics_are_found(documents, kind):
    model = klnmf.topics(kind(documents), 2)
    assert model.status == "converged" and model.unconverged == 0
    assert model.topics.shape == (2, 21) and model.weights.shape == (81, 2)
    np.testing.assert_allclose(model.topics.sum(axis=1), 1)
    np.testing.assert_allclose(model.weights.sum(axis=1), 1)
    np.testing.assert_allclose(model.weights[-1], 0.5)
    first = model.topics[:, :10].sum(axis=1)
    assert max(first) > 0.7 and min(first) < 0.05
    log_likelihood = (documents * np.log(model.weights @ model.topics)).sum()
    assert model.perplexity == pytest.approx(np.exp(-log_likelihood / documents.sum()))
    assert (model.gaps <= 1e-6 * documents.sum(axis=1) + 1e-9).all()


def test_weights_of_new_documents(documents):
    model = klnmf.topics(documents, 2)
    again = klnmf.topic_weights(documents, 3 * model.topics)
    np.testing.assert_allclose(again.weights, model.weights, atol=1e-3)
    np.testing.assert_allclose(again.topics, model.topics)
    assert again.perplexity == pytest.approx(model.perplexity, rel=1e-4)


def test_data_frames_are_matched_by_label(documents):
    names = [f"word{i}" for i in range(21)]
    counts = pd.DataFrame(documents, columns=names)
    model = klnmf.topics(counts, 2)
    turned = pd.DataFrame(model.topics, columns=names).iloc[:, ::-1]
    expected = klnmf.topic_weights(documents, model.topics)
    np.testing.assert_array_equal(klnmf.topic_weights(counts, turned).weights, expected.weights)
    again = klnmf.topics(counts, init=(model.weights + 1e-3, turned), max_iter=0)
    np.testing.assert_allclose(again.topics, model.topics, atol=0.01)
    with pytest.raises(ValueError, match="labels of counts and topics differ: topics has no 'word3'"):
        klnmf.topic_weights(counts, turned.drop(columns="word3"))


def test_start_callback_and_priors(documents):
    model = klnmf.topics(documents, 2, topic_prior=0, word_prior=0)
    seen = []
    sizes = documents.sum(axis=1, keepdims=True)
    start = (model.weights * sizes + 1e-3, model.topics + 1e-6)
    klnmf.topics(documents, init=start, topic_prior=0, word_prior=0, callback=seen.append)
    assert seen[0].objective == pytest.approx(seen[-1].objective, rel=0.05)
    stopped = klnmf.topics(documents, 2, callback=lambda info: info.iteration >= 10)
    assert stopped.status == "stopped"
    assert model.trace["iteration"][0] == 0


def test_errors(documents):
    with pytest.raises(ValueError, match="topic_prior = -1: a finite number ≥ 0 is needed"):
        klnmf.topics(documents, 2, topic_prior=-1)
    with pytest.raises(
        ValueError, match=r"counts\[1, 0\] = 1 but column 0 of topics is zero.*drop the column"
    ):
        klnmf.topic_weights([[0, 1], [1, 1]], [[0.0, 1.0]])
    with pytest.raises(TypeError, match="n_topics is missing"):
        klnmf.topics(documents)
    with pytest.raises(ValueError, match="n_topics = 0: a whole number ≥ 1"):
        klnmf.topics(documents, 0)
    with pytest.raises(ValueError, match="topics have 30 words, counts 21"):
        klnmf.topic_weights(documents, np.ones((2, 30)))
    with pytest.raises(ValueError, match="weights are 3 × 2 and topics 2 × 21, 81 × 2 and 2 × 21 are needed"):
        klnmf.topics(documents, init=(np.ones((3, 2)), np.ones((2, 21))))
    with pytest.raises(TypeError, match=r"init is of type ndarray: .* a pair \(weights, topics\)"):
        klnmf.topics(documents, 2, init=np.ones((2, 21)))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_errors_name_the_place_in_the_counts(kind):
    minus = kind(np.array([[1, 2, 3], [4, 5, -6.0]]))
    for call in (lambda: klnmf.topics(minus, 2), lambda: klnmf.topic_weights(minus, np.ones((2, 3)))):
        with pytest.raises(ValueError, match=r"^counts\[1, 2\] = -6 is negative"):
            call()
    with pytest.raises(ValueError, match=r"^topics\[0, 2\] = -1: factors must"):
        klnmf.topic_weights(np.ones((2, 3)), [[1, 1, -1.0]])
    with pytest.raises(TypeError, match="^counts holds complex numbers"):
        klnmf.topics(minus * 1j, 2)


def test_converged(documents):
    model = klnmf.topics(documents, 2)
    assert model.converged and not klnmf.topics(documents, 2, max_iter=0).converged
    assert klnmf.topic_weights(documents, model.topics).converged
    limited = klnmf.topic_weights(documents, model.topics, weights_tol=0, time_limit=0)
    assert limited.status == "time limit" and not limited.converged


def test_a_corpus_without_words():
    model = klnmf.topics(np.zeros((5, 6)), 2)
    assert model.converged and model.iterations < 50 and np.isfinite(model.topics).all()


def test_a_topic_without_words(documents):
    found = klnmf.topic_weights(documents, np.vstack([np.ones((1, 21)), np.zeros((1, 21))]))
    np.testing.assert_allclose(found.topics.sum(axis=1), [1, 0])
    assert np.isfinite(found.weights).all()


def test_the_words_of_topics_have_names(documents):
    found = klnmf.topics(documents, 2)
    words = [f"w{i}" for i in range(documents.shape[1])]
    named = found.top_words(3, words)
    assert named == [[f"w{i}" for i in row] for row in found.top_words(3)]
    assert found.top_words(3, {word: i for i, word in enumerate(words)}) == named
    labelled = klnmf.topics(pd.DataFrame(documents, columns=words), 2)
    assert labelled.top_words(3) == named
    with pytest.raises(ValueError, match="complete vocabulary"):
        found.top_words(3, words[1:])


def test_texts_are_not_counts():
    with pytest.raises(TypeError, match="count their words first"):
        klnmf.topics(["cats chase mice", "dogs chase cats"], 2)
