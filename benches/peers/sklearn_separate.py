"""The pipeline of `klnmf separate` with scikit-learn's KL-NMF in place of ours.

    sklearn_separate.py MIX.wav NAME=TRAIN.wav=TRUTH.wav ... [--per-source 24] [--window 23.2] [--seed 0]

A dictionary per source is learned from TRAIN (power spectrogram, sine windows, half overlapping), the mix is explained by
all of them with W fixed, Wiener masks give the stems, which are written as 32-bit float. Prints for every stem: its name, the seconds
for learning and explaining, those from reading the mix to the last stem on disk (what `klnmf separate` calls `seconds`; imports and
the start of Python are not in it), SI-SDR of the stem and of the mix. Default settings of scikit-learn but for solver, loss and seed.
"""

import argparse
import os
import tempfile
import time
import warnings

import numpy as np
import scipy.io.wavfile
from sklearn.decomposition import NMF


def read(path):
    rate, x = scipy.io.wavfile.read(path)
    scale = {"i": 2.0 ** (8 * x.dtype.itemsize - 1), "f": 1.0}[x.dtype.kind]
    x = x.astype(float) / scale
    return rate, x if x.ndim == 1 else x.mean(axis=1)


class Stft:
    """Sine windows, half overlapping, padded so that every sample lies in two of them."""

    def __init__(self, n):
        self.n, self.hop = n, n // 2
        self.window = np.sin(np.pi * (np.arange(n) + 0.5) / n)

    def forward(self, x):
        frames = (len(x) - 1 + self.hop) // self.hop + 1
        padded = np.zeros(self.n + (frames - 1) * self.hop)
        padded[self.hop : self.hop + len(x)] = x
        pieces = [self.window * padded[i * self.hop : i * self.hop + self.n] for i in range(frames)]
        return np.fft.rfft(pieces, axis=1).T

    def inverse(self, frames, length):
        out = np.zeros(self.n + (frames.shape[1] - 1) * self.hop)
        for i, piece in enumerate(np.fft.irfft(frames.T, self.n, axis=1)):
            out[i * self.hop : i * self.hop + self.n] += self.window * piece
        return out[self.hop : self.hop + length]


def si_sdr(reference, estimate):
    target = (estimate @ reference) / (reference @ reference) * reference
    return 10 * np.log10((target @ target) / ((estimate - target) @ (estimate - target)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mix")
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--per-source", type=int, default=24)
    parser.add_argument("--window", type=float, default=23.2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    whole = time.perf_counter()
    rate, mix = read(args.mix)
    stft = Stft(2 * round(args.window * rate / 2000))
    sources = [source.split("=") for source in args.sources]
    k = args.per_source
    begun = time.perf_counter()
    dictionaries = []
    for _, train, _ in sources:
        model = NMF(k, init="random", solver="mu", beta_loss="kullback-leibler", random_state=args.seed)
        dictionaries.append(model.fit_transform(np.abs(stft.forward(read(train)[1])) ** 2))
    spectra = stft.forward(mix)
    model.n_components_ = model.n_components = k * len(sources)
    model.components_ = np.hstack(dictionaries).T
    model.n_features_in_ = spectra.shape[0]
    weights = model.transform((np.abs(spectra) ** 2).T).T
    seconds = time.perf_counter() - begun
    w = np.hstack(dictionaries)
    total = w @ weights
    stems = []
    with tempfile.TemporaryDirectory() as folder:
        for i, (name, _, _) in enumerate(sources):
            part = slice(i * k, (i + 1) * k)
            mask = np.where(total > 0, (w[:, part] @ weights[part]) / np.maximum(total, 1e-300), 1 / len(sources))
            stems.append(stft.inverse(mask * spectra, len(mix)))
            with open(f"{folder}/{name}.wav", "wb") as out:
                scipy.io.wavfile.write(out, rate, stems[-1].astype(np.float32))
                out.flush()
                os.fsync(out.fileno())
        whole = time.perf_counter() - whole
    for (name, _, truth), stem in zip(sources, stems):
        reference = read(truth)[1]
        print(f"{name},{seconds:.3f},{whole:.3f},{si_sdr(reference, stem):.3f},{si_sdr(reference, mix):.3f}")


if __name__ == "__main__":
    main()
