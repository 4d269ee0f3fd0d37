"""The words that name a topic."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klnmf._data import count


def top_words(topics: NDArray, n: int, names: Any) -> list[list[str]]:
    """The `n` most probable words of every topic; without names, the numbers of their columns."""
    best = np.argsort(-topics, kind="stable")[:, : count("n", n)]
    words = _vocabulary(topics.shape[1], names)
    return [[words[i] for i in row] for row in best]


def _vocabulary(size: int, names: Any) -> list[str]:
    """The word of every column."""
    if names is None:
        names = range(size)
    if isinstance(names, Mapping):
        # scikit-learn maps words to columns, gensim columns to words.
        pairs = ((key, word) if isinstance(key, Integral) else (word, key) for key, word in names.items())
        names = [word for _, word in sorted(pairs, key=itemgetter(0))]
    if len(names) != size:
        raise ValueError(
            f"names has {len(names)} words, the topics have {size}: give the complete vocabulary"
        )
    return [str(name) for name in names]
