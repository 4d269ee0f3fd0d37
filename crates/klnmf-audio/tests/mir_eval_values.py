"""Prints the constants of evaluate.rs with the reference implementation of BSS Eval.

    python3 -m venv .venv && .venv/bin/pip install mir_eval && .venv/bin/python mir_eval_values.py
"""

import math

import mir_eval
import numpy as np

MASK = (1 << 64) - 1


def noise(length, seed):
    """White noise from -1 to 1 by SplitMix64."""
    state, out = seed, []
    for _ in range(length):
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        out.append(((z ^ (z >> 31)) >> 11) / (1 << 52) - 1.0)
    return np.array(out)


def source(length, number):
    """Two sines and a little noise."""
    phase = math.tau * (0.01 + 0.013 * number) * np.arange(length)
    return 0.5 * np.sin(phase) + 0.3 * np.sin(2.7 * phase + 1.0) + 0.1 * noise(length, number + 1)


def estimates(sources):
    """Each source delayed by 3 samples, with some of the next one and noise; in reverse order."""
    count, length = sources.shape
    out = []
    for j in range(count):
        own = np.concatenate((np.zeros(3), sources[j][:-3]))
        out.append(own + 0.1 * (j + 1) * sources[(j + 1) % count] + 0.05 * noise(length, 100 + j))
    return np.array(out[::-1])


for count, length, taps in [(1, 2000, 512), (2, 4000, 512), (3, 3000, 64), (2, 300, 1)]:
    references = np.array([source(length, j) for j in range(count)])
    # bss_eval_sources has no parameter for the length of the filters.
    decomposition = mir_eval.separation._bss_decomp_mtifilt
    mir_eval.separation._bss_decomp_mtifilt = lambda r, e, j, _: decomposition(r, e, j, taps)
    sdr, sir, sar, order = mir_eval.separation.bss_eval_sources(references, estimates(references))
    mir_eval.separation._bss_decomp_mtifilt = decomposition
    print(f"({count}, {length}, {taps}, &[")
    for j in range(count):
        print(f"    ({order[j]}, {sdr[j]:.9f}, {sir[j]:.9f}, {sar[j]:.9f}),".replace("inf", "f64::INFINITY"))
    print("]),")
