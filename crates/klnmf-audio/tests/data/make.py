"""Writes the compressed sounds beside this file: a sine in each of two channels, whole numbers of 16 bits.

    python3 -m venv .venv && .venv/bin/pip install soundfile && .venv/bin/python make.py
"""

import math
import pathlib

import numpy as np
import soundfile

RATE, LENGTH = 16000, 5001
FOLDER = pathlib.Path(__file__).parent

i = np.arange(LENGTH)
channels = [0.5 * np.sin(math.tau * 440 / RATE * i), 0.3 * np.sin(math.tau * 1000 / RATE * i)]
samples = np.stack([np.round(32768 * x) for x in channels], axis=1)
soundfile.write(FOLDER / "two.flac", samples.astype(np.int16), RATE, subtype="PCM_16")
# The best quality. The encoders want floating point.
best = {"samplerate": RATE, "compression_level": 0.0}
soundfile.write(FOLDER / "two.ogg", samples / 32768, format="OGG", subtype="VORBIS", **best)
soundfile.write(FOLDER / "two.mp3", samples / 32768, format="MP3", subtype="MPEG_LAYER_III", **best)

# Long enough for two pages, so that one can be missing.
tone = 0.5 * np.sin(math.tau * 200 / 8000 * np.arange(80000))
soundfile.write(FOLDER / "long.ogg", tone, 8000, format="OGG", subtype="VORBIS", compression_level=0.9)
