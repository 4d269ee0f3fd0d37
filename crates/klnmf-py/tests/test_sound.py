"""Separation of sounds."""

import os
import subprocess
from pathlib import Path

import klnmf
import numpy as np
import pytest
from scipy.io import wavfile

RATE = 8000
TIME = np.arange(RATE) / RATE


def tone(frequency, gate):
    return np.sin(2 * np.pi * frequency * TIME) * gate


LOW = tone(440, TIME % 0.5 < 0.3)
HIGH = tone(1760, TIME % 0.4 < 0.2)
MIX = LOW + HIGH


def signal_to_noise(truth, found):
    return 10 * np.log10((truth**2).sum() / ((truth - found) ** 2).sum())


def test_blind_separation():
    stems, W, H = found = klnmf.separate(MIX, RATE, n_components=2)
    assert stems.shape == (2, RATE)
    np.testing.assert_allclose(stems.sum(axis=0), MIX, atol=1e-12)
    assert W.shape[1] == H.shape[0] == 2 and found.model.divergence >= 0
    if W[:, 0].argmax() > W[:, 1].argmax():
        stems = stems[::-1]
    assert signal_to_noise(LOW, stems[0]) > 10 and signal_to_noise(HIGH, stems[1]) > 10


def test_dictionaries():
    learn = {
        name: klnmf.factorize(klnmf.spectrogram(part, RATE), 2).W + 1e-12
        for name, part in (("low", LOW), ("high", HIGH))
    }
    found = klnmf.separate(np.stack([MIX, 0.5 * MIX]), RATE, dictionaries=learn)
    assert found.stems.shape == (2, 2, RATE)
    assert isinstance(found.model, klnmf.Decomposition)
    assert signal_to_noise(LOW, found.stems[0, 0]) > 10
    np.testing.assert_allclose(found.stems[:, 1], 0.5 * found.stems[:, 0], atol=1e-12)


def test_known_and_unknown_sources():
    low = klnmf.factorize(klnmf.spectrogram(LOW, RATE), 2).W + 1e-12
    found = klnmf.separate(MIX, RATE, 1, dictionaries=[low])
    assert found.stems.shape == (2, RATE) and isinstance(found.model, klnmf.Result)
    np.testing.assert_allclose(found.W[:, :2], low)
    assert signal_to_noise(LOW, found.stems[0]) > 10 and signal_to_noise(HIGH, found.stems[1]) > 10


def test_training_recordings():
    found = klnmf.separate(np.stack([MIX, 0.5 * MIX]), RATE, train={"low": LOW, "high": HIGH}, per_source=3)
    assert found.names == ("low", "high") and found.stems.shape == (2, 2, RATE) and found.W.shape[1] == 6
    assert isinstance(found.model, klnmf.Decomposition) and found.model.converged
    np.testing.assert_allclose(found.stems.sum(axis=0)[0], MIX, atol=1e-12)
    assert signal_to_noise(LOW, found["low"][0]) > 10 and signal_to_noise(HIGH, found["high"][0]) > 10
    with pytest.raises(KeyError, match="no stem is named 'middle': choose one of low, high"):
        found["middle"]
    # Learning ends as asked, and each seed has a start of its own.
    other = klnmf.separate(MIX, RATE, train={"low": LOW}, max_iter=5, seed=1, solver="mu", time_limit=60)
    again = klnmf.separate(MIX, RATE, train={"low": LOW}, max_iter=5, seed=1, solver="mu", threads=1)
    np.testing.assert_array_equal(other.W, again.W)
    assert not np.array_equal(other.W, klnmf.separate(MIX, RATE, train={"low": LOW}, max_iter=5).W)


def program():
    """The program of the same sources, if it has been built."""
    built = Path(__file__).parents[3] / "target" / "debug" / "klnmf"
    path = Path(os.environ.get("KLNMF_PROGRAM", built))
    return path if path.is_file() else pytest.skip(f"{path} is not there: cargo build -p klnmf-cli makes it")


@pytest.mark.parametrize("free", [0, 1])
def test_training_gives_the_stems_of_the_program(tmp_path, free):
    klnmf_program = program()
    rng = np.random.default_rng(5)
    hiss = 0.1 * rng.normal(size=RATE)
    sounds = {"mix": 0.3 * MIX + hiss, "low": 0.3 * LOW, "high": 0.3 * HIGH + 0.01 * hiss[::-1]}
    for name, samples in sounds.items():
        sounds[name] = samples.astype(np.float32)
        wavfile.write(tmp_path / f"{name}.wav", RATE, sounds[name])
    line = "separate mix.wav --train low=low.wav --train high=high.wav --per-source 5 --seed 3 --out stems --quiet"
    extra = ["--components", str(free)] if free else []
    subprocess.run([klnmf_program, *line.split(), *extra], cwd=tmp_path, check=True)
    train = {name: sounds[name] for name in ("low", "high")}
    found = klnmf.separate(
        sounds["mix"].astype(float), RATE, free or None, train=train, per_source=5, seed=3
    )
    assert found.names == ("low", "high", "part01")[: 2 + free]
    for name in found.names:
        rate, stem = wavfile.read(tmp_path / "stems" / f"{name}.wav")
        assert rate == RATE
        np.testing.assert_array_equal(stem, found[name].astype(np.float32))


def test_names():
    low = klnmf.factorize(klnmf.spectrogram(LOW, RATE), 2).W + 1e-12
    assert klnmf.separate(MIX, RATE, 2, dictionaries={"part01": low}).names == ("part01", "part02", "part03")
    assert klnmf.separate(MIX, RATE, 1, dictionaries=[low]).names == ("source01", "part01")
    assert klnmf.separate(MIX, RATE, 3, groups=[[0], [1, 2]]).names == ("source01", "source02")


def test_groups_windows_and_precision():
    stems = klnmf.separate(
        MIX.astype(np.float32), RATE, 3, groups=[[0], [1, 2]], window=256, hop=64, max_iter=20
    ).stems
    assert stems.shape == (2, RATE) and stems.dtype == np.float32
    np.testing.assert_allclose(stems.sum(axis=0), MIX, atol=1e-5)


def test_errors():
    with pytest.raises(TypeError, match="n_components for blind separation, or train, or dictionaries"):
        klnmf.separate(MIX, RATE)
    with pytest.raises(ValueError, match=r"y: channel 0 \(counting from 0\) is nan at sample 3"):
        klnmf.separate(np.where(np.arange(RATE) == 3, np.nan, MIX), RATE, 2)
    with pytest.raises(ValueError, match=r"dictionary 0 .* has the shape \(3, 2\), the spectrogram 94 bins"):
        klnmf.separate(MIX, RATE, dictionaries=[np.ones((3, 2))])
    with pytest.raises(ValueError, match="threads = 5000: at most 1024"):
        klnmf.spectrogram(MIX, RATE, threads=5000)
    with pytest.raises(ValueError, match="hop = 200: 1 to 128"):
        klnmf.separate(MIX, RATE, 2, window=256, hop=200)
    with pytest.raises(ValueError, match="component 1 .* is in 0 sources"):
        klnmf.separate(MIX, RATE, 2, groups=[[0]])
    with pytest.raises(ValueError, match="groups = -1: a whole number ≥ 0"):
        klnmf.separate(MIX, RATE, 2, groups=[[0], [-1]])
    with pytest.raises(ValueError, match="n_components = -1: a whole number ≥ 0"):
        klnmf.separate(MIX, RATE, -1, dictionaries=[np.ones((94, 2))])
    with pytest.raises(TypeError, match="dictionaries is one array: give a list"):
        klnmf.separate(MIX, RATE, dictionaries=np.ones((94, 2)))
    with pytest.raises(TypeError, match="init, fixed and update cannot be given beside known sources"):
        klnmf.separate(MIX, RATE, 2, dictionaries=[np.ones((94, 2))], init="nndsvd")
    with pytest.raises(TypeError, match="train and dictionaries are both given"):
        klnmf.separate(MIX, RATE, train={"low": LOW}, dictionaries=[np.ones((94, 2))])
    for nothing in ({}, [LOW], {1: LOW}):
        with pytest.raises(TypeError, match="train has no named recordings: give a dict"):
            klnmf.separate(MIX, RATE, train=nothing)
    with pytest.raises(ValueError, match='source "low": the recording is silent'):
        klnmf.separate(MIX, RATE, train={"low": 0 * LOW})
    with pytest.raises(ValueError, match=r"train\['low'\]: channel 0 .* is inf at sample 0"):
        klnmf.separate(MIX, RATE, train={"low": LOW + np.inf})
    with pytest.raises(ValueError, match="per_source = 0: a whole number ≥ 1"):
        klnmf.separate(MIX, RATE, train={"low": LOW}, per_source=0)
    with pytest.raises(TypeError, match="y holds complex numbers"):
        klnmf.spectrogram(MIX * 1j, RATE)
    with pytest.raises(ValueError, match="300 channels of 2 samples: channels come first, give y.T"):
        klnmf.separate(np.ones((300, 2)), RATE, 2)
    with pytest.raises(TypeError, match="sr = 8000.5: a whole number"):
        klnmf.spectrogram(MIX, 8000.5)


def test_rate_as_a_float():
    np.testing.assert_array_equal(klnmf.spectrogram(MIX, float(RATE)), klnmf.spectrogram(MIX, RATE))
    assert klnmf.separate(MIX, float(RATE), 2, max_iter=1).stems.shape == (2, RATE)
