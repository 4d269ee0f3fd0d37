"""Sounds: spectrograms, and separation by Wiener masks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from klnmf import _klnmf
from klnmf._core import decompose, factorize, init
from klnmf._data import count, factor, maybe_count
from klnmf._data import threads as thread_count
from klnmf._results import Decomposition, Result, Separation


def spectrogram(
    y: ArrayLike,
    sr: int,
    *,
    window: int | None = None,
    hop: int | None = None,
    threads: int | None = None,
    n_jobs: int | None = None,
) -> NDArray[np.float64]:
    """Compute the power spectrogram that `separate` uses, bins × frames.

    Parameters
    ----------
    y : array-like of shape (samples,) or (channels, samples)
        The sound; several channels are averaged.
    sr : int
        Samples per second.
    window, hop : int, optional
        Length and distance of the windows in samples; 23.2 ms and half of that by default.
    threads : int, optional
        Number of threads; one per core by default.
    n_jobs : int, optional
        scikit-learn's name of `threads`: -1 means one per core, -2 one fewer.

    Returns
    -------
    ndarray of shape (bins, frames)

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> klnmf.spectrogram(np.sin(np.arange(8000.0)), 8000).shape
    (94, 88)
    """
    window, hop = _lengths(sr, window, hop)
    return _klnmf.spectrogram(_channels(y), _rate(sr), window, hop, thread_count(threads, n_jobs))


def separate(
    y: ArrayLike,
    sr: int,
    n_components: int | None = None,
    *,
    dictionaries: Sequence[ArrayLike] | Mapping[Any, ArrayLike] | None = None,
    groups: Sequence[Sequence[int]] | None = None,
    window: int | None = None,
    hop: int | None = None,
    threads: int | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Separation:
    """Split a sound into stems that add up to it.

    The power spectrogram is factorised. Every component, or group of components, then gets its share of every
    bin of the short-time spectra (a Wiener mask).

    Parameters
    ----------
    y : array-like of shape (samples,) or (channels, samples)
        The sound.
    sr : int
        Samples per second.
    n_components : int, optional
        Number of components to learn: all of them in blind separation, or those beside the dictionaries.
    dictionaries : sequence or mapping of arrays of shape (bins, components), optional
        One for every source, learned with `factorize(spectrogram(…), …).W`. There is one stem for every
        source, in the given order. Without `n_components`, only the weights are computed, by `decompose`.
    groups : sequence of sequences of int, optional
        The components of every stem; each component occurs once. By default there is one stem for every
        component that is learned.
    window, hop : int, optional
        Length and distance of the windows in samples; 23.2 ms and half of that by default.
    threads : int, optional
        Number of threads; one per core by default.
    n_jobs : int, optional
        scikit-learn's name of `threads`: -1 means one per core, -2 one fewer.
    **options
        Passed to `factorize`, or to `decompose` if nothing is learned.

    Returns
    -------
    Separation
        Unpacks as stems, W, H.

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> t = np.arange(8000) / 8000
    >>> y = np.where(t < 0.5, np.sin(2000 * t), np.sin(6000 * t))
    >>> stems, W, H = klnmf.separate(y, 8000, n_components=2)
    >>> stems.shape, bool(np.allclose(stems.sum(axis=0), y))
    ((2, 8000), True)
    """
    channels = _channels(y)
    window, hop = _lengths(sr, window, hop)
    n_components = maybe_count("n_components", n_components)
    workers = thread_count(threads, n_jobs)
    V = _klnmf.spectrogram(channels, _rate(sr), window, hop, workers)
    known = _known(dictionaries, len(V))
    model = _model(V, known, n_components, {"threads": workers, **options})
    W = model.W if isinstance(model, Result) else np.hstack(known)
    lengths = [part.shape[1] for part in known] + [1] * (n_components or 0)
    groups = _runs(lengths) if groups is None else [[count("groups", k) for k in group] for group in groups]
    stems = _klnmf.wiener(channels, _rate(sr), window, hop, W, model.H, groups, workers)
    if np.ndim(y) == 1:
        stems = stems[:, 0]
    if getattr(y, "dtype", None) == np.float32:
        stems = stems.astype(np.float32)
    return Separation(stems, W, model.H, model)


def _known(dictionaries: Any, bins: int) -> list[NDArray[np.float64]]:
    """The spectra of every known source."""
    if isinstance(dictionaries, np.ndarray):
        raise TypeError("dictionaries is one array: give a list of arrays, one for every source")
    given = dictionaries.values() if isinstance(dictionaries, Mapping) else dictionaries or []
    parts = [factor(f"dictionary {i}", part, np.float64) for i, part in enumerate(given)]
    for i, part in enumerate(parts):
        if len(part) != bins:
            raise ValueError(
                f"dictionary {i} (counting from 0) has the shape {part.shape}, the spectrogram {bins} bins: "
                "learn it with the same rate, window and hop"
            )
    return parts


def _model(V: NDArray, known: list[NDArray], free: int | None, options: dict) -> Result | Decomposition:
    """The model of the spectrogram: known parts stay fixed, others are learned."""
    if not known and free is None:
        raise TypeError("give n_components for blind separation, or dictionaries")
    if known and options.keys() & {"init", "fixed", "update"}:
        raise TypeError("init, fixed and update cannot be given beside dictionaries: leave them out")
    if not known:
        return factorize(V, free, **options)
    W = np.hstack(known)
    if not free:
        return decompose(V, W, **options)
    start, H = init(V, W.shape[1] + free, seed=options.get("seed", 0), threads=options["threads"])
    start[:, : W.shape[1]] = W
    return factorize(V, init=(start, H), fixed=W.shape[1], **options)


def _runs(lengths: list[int]) -> list[list[int]]:
    """Consecutive numbers in runs of these lengths."""
    ends = np.cumsum(lengths).tolist()
    return [list(range(end - length, end)) for end, length in zip(ends, lengths, strict=True)]


def _channels(y: ArrayLike) -> NDArray[np.float64]:
    sound = factor("y", np.atleast_2d(np.asarray(y)), np.float64)
    if len(sound) > sound.shape[1] > 0:
        raise ValueError(
            f"y has {len(sound)} channels of {sound.shape[1]} samples: channels come first, give y.T"
        )
    if not np.isfinite(sound).all():
        c, i = np.argwhere(~np.isfinite(sound))[0]
        raise ValueError(f"channel {c} (counting from 0) is {sound[c, i]} at sample {i}: give finite samples")
    return sound


def _rate(sr: Any) -> int:
    """Samples per second; some audio readers return an integer as a float."""
    return count("sr", int(sr) if isinstance(sr, float) and sr.is_integer() else sr)


def _lengths(sr: int, window: int | None, hop: int | None) -> tuple[int, int]:
    window = _klnmf.window_for(_rate(sr)) if window is None else count("window", window)
    return window, window // 2 if hop is None else count("hop", hop)
