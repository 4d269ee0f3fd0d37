"""Pictures: that they can be drawn and hold what they should."""

import klnmf
import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def closed():
    yield
    matplotlib.pyplot.close("all")


def test_pictures(counts, tmp_path):
    result = klnmf.factorize(counts, 4)
    model = klnmf.KLNMF(4, random_state=0).fit(counts.T)
    topics = klnmf.topics(counts.T, 4)
    names = [f"word{i}" for i in range(60)]
    figures = [
        klnmf.plot.convergence(result, model, labels=["function", "class"], x="seconds"),
        klnmf.plot.images(result, (6, 10)),
        klnmf.plot.images(model, (6, 10), columns=4),
        klnmf.plot.bars(result, names),
        klnmf.plot.bars(result.W.T[:, :10], names[:10], columns=2),
        klnmf.plot.words(topics, names, n=5),
        klnmf.plot.words(model),
        klnmf.plot.structure(result.H.T, groups=np.arange(90) % 3),
        klnmf.plot.structure(model.transform(counts.T)),
        klnmf.plot.structure(result),
        klnmf.plot.structure(klnmf.decompose(counts, result.W)),
        klnmf.plot.structure(topics),
        klnmf.plot.convergence(topics),
        klnmf.plot.convergence(klnmf.TopicModel(4, random_state=0).fit(counts.T)),
    ]
    for i, figure in enumerate(figures):
        figure.savefig(tmp_path / f"{i}.png", dpi=50)


def test_structure_adds_up(counts):
    result = klnmf.factorize(counts, 4)
    for weights in (result.H.T, result):
        figure = klnmf.plot.structure(weights)
        assert len(figure.axes[0].patches) == 4
        tops, _, _ = figure.axes[0].patches[-1].get_data()
        assert len(tops) == 90
        np.testing.assert_allclose(tops, 1)
        (legend,) = figure.legends
        assert [text.get_text() for text in legend.get_texts()] == ["part1", "part2", "part3", "part4"]


def test_structure_of_many_components_has_no_legend():
    assert not klnmf.plot.structure(np.ones((3, 21))).legends


def test_a_model_from_a_file_has_no_trace(counts, tmp_path):
    klnmf.factorize(counts, 2, max_iter=10).save(tmp_path / "model.npz")
    with pytest.raises(ValueError, match="no trace"):
        klnmf.plot.convergence(klnmf.load(tmp_path / "model.npz"))


def test_words_are_the_heaviest(counts):
    figure = klnmf.plot.words(np.array([[0.1, 0.7, 0.2]]), ["a", "b", "c"], n=2)
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["b", "c"]
