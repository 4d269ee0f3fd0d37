"""Sounds: spectrograms, and separation by Wiener masks."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count as numbers
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from klnmf import _klnmf
from klnmf._core import decompose, factorize, init
from klnmf._data import count, factor, maybe_count, maybe_number, word
from klnmf._data import threads as thread_count
from klnmf._files import call_of
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
    train: Mapping[str, ArrayLike] | None = None,
    per_source: int = 24,
    dictionaries: Sequence[ArrayLike] | Mapping[str, ArrayLike] | None = None,
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
        Number of components to learn from the sound: all of them in blind separation, or those beside the
        known sources.
    train : mapping of names to arrays of shape (samples,) or (channels, samples), optional
        A recording of every known source alone, with the rate `sr`. Its components are learned, and there is
        one stem for every source. The result is that of `klnmf separate --train`.
    per_source : int
        Number of components to learn from each recording of `train`.
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
        Passed to `factorize`, or to `decompose` if nothing is learned from the sound. With `train`, they
        apply to its recordings as well, and the defaults are those of the program: `tol` is 0 for these and
        0.1 for the sound, `max_iter` 20 for these and 300 for `n_components`.

    Returns
    -------
    Separation
        Unpacks as stems, W, H. `separation["piano"]` is the stem of that source.

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> t = np.arange(8000) / 8000
    >>> y = np.where(t < 0.5, np.sin(2000 * t), np.sin(6000 * t))
    >>> stems, W, H = klnmf.separate(y, 8000, n_components=2)
    >>> stems.shape, bool(np.allclose(stems.sum(axis=0), y))
    ((2, 8000), True)

    With a recording of each source alone:

    >>> rng = np.random.default_rng(0)
    >>> hiss, tone = rng.normal(size=8000), 3 * np.sin(2000 * t)
    >>> train = {"hiss": rng.normal(size=8000), "tone": np.sin(2000 * t)}
    >>> found = klnmf.separate(hiss + tone, 8000, train=train, per_source=4)
    >>> found.names, bool(np.abs(found["tone"] - tone).mean() < 0.2 * np.abs(tone).mean())
    (('hiss', 'tone'), True)
    """
    call = call_of(separate, locals())
    channels = _channels(y)
    window, hop = _lengths(sr, window, hop)
    n_components = maybe_count("n_components", n_components)
    workers = thread_count(threads, n_jobs)
    if train is not None:
        if dictionaries is not None:
            raise TypeError("train and dictionaries are both given: give one of them")
        learning = _rate(sr), window, hop, count("per_source", per_source, 1)
        dictionaries, options = _learn(train, learning, n_components, {"threads": workers, **options})
    V = _klnmf.spectrogram(channels, _rate(sr), window, hop, workers)
    known = _known(dictionaries, len(V))
    model = _model(V, known, n_components, {"threads": workers, **options})
    names = _names(dictionaries, n_components or 0, groups)
    W = model.W
    lengths = [part.shape[1] for part in known] + [1] * (n_components or 0)
    groups = _runs(lengths) if groups is None else [[count("groups", k) for k in group] for group in groups]
    stems = _klnmf.wiener(channels, _rate(sr), window, hop, W, model.H, groups, workers)
    if np.ndim(y) == 1:
        stems = stems[:, 0]
    if getattr(y, "dtype", None) == np.float32:
        stems = stems.astype(np.float32)
    about = {"kind": "separation", "rate": _rate(sr), "window": window, "hop": hop, "spectrogram": "power"}
    sources = np.array([names[i] for k in range(W.shape[1]) for i, group in enumerate(groups) if k in group])
    model = replace(model, parts=sources, metadata={**model.metadata, **about, "call": call})
    return Separation(stems, W, model.H, model, names, model.metadata)


def _learn(
    train: Mapping[str, ArrayLike], learning: tuple[int, int, int, int], free: int | None, options: dict
) -> tuple[dict[str, NDArray], dict]:
    """Dictionaries that are learned from recordings, and the options for the sound."""
    if not isinstance(train, Mapping) or not train or not all(isinstance(name, str) for name in train):
        raise TypeError("train has no named recordings: give a dict of names and arrays")
    begun = time.monotonic()
    limit = maybe_number("time_limit", options.get("time_limit"))
    W, lengths = _klnmf.learn(
        [(name, _channels(part, f"train[{name!r}]")) for name, part in train.items()],
        *learning,
        word("solver", options.get("solver", "auto")),
        maybe_number("tol", options.get("tol")),
        maybe_count("max_iter", options.get("max_iter")),
        limit,
        count("seed", options.get("seed", 0)),
        thread_count(options["threads"]),
    )
    options = {"tol": 0.1, **options}
    if limit is not None:
        options["time_limit"] = max(0.0, limit + begun - time.monotonic())
    if free:
        options = {"max_iter": 300, **options}
    else:
        # These are about learning.
        options = {name: value for name, value in options.items() if name not in ("solver", "max_iter", "seed")}
    return dict(zip(train, np.split(W, np.cumsum(lengths)[:-1], axis=1), strict=True)), options


def _names(dictionaries: Any, free: int, groups: Sequence | None) -> tuple[str, ...]:
    """The names of the stems."""
    if groups is not None:
        dictionaries, free = groups, 0
    named = isinstance(dictionaries, Mapping)
    known = [str(name) if named else f"source{i:02}" for i, name in enumerate(dictionaries or [], 1)]
    new = (name for name in (f"part{i:02}" for i in numbers(1)) if name not in known)
    return (*known, *islice(new, free))


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
        raise TypeError("give n_components for blind separation, or train, or dictionaries")
    if known and options.keys() & {"init", "fixed", "update"}:
        raise TypeError("init, fixed and update cannot be given beside known sources: leave them out")
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


def _channels(y: ArrayLike, name: str = "y") -> NDArray[np.float64]:
    sound = factor(name, np.atleast_2d(np.asarray(y)), np.float64)
    if len(sound) > sound.shape[1] > 0:
        raise ValueError(
            f"{name} has {len(sound)} channels of {sound.shape[1]} samples: channels come first, give "
            f"{name}.T"
        )
    if not np.isfinite(sound).all():
        c, i = np.argwhere(~np.isfinite(sound))[0]
        raise ValueError(
            f"{name}: channel {c} (counting from 0) is {sound[c, i]} at sample {i}: give finite samples"
        )
    return sound


def _rate(sr: Any) -> int:
    """Samples per second; some audio readers return an integer as a float."""
    return count("sr", int(sr) if isinstance(sr, float) and sr.is_integer() else sr)


def _lengths(sr: int, window: int | None, hop: int | None) -> tuple[int, int]:
    window = _klnmf.window_for(_rate(sr)) if window is None else count("window", window)
    return window, window // 2 if hop is None else count("hop", hop)
