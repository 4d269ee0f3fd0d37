"""Learning from blocks of samples that arrive one after the other."""

from __future__ import annotations

import io
import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klnmf import _klnmf
from klnmf._data import count, is_sparse, matrix, number
from klnmf._data import threads as thread_count
from klnmf._files import call_of, new_file
from klnmf._labels import Labels, labelled
from klnmf._results import Decomposition

# The version of the file. Files of later versions are refused.
_FORMAT = 1


class Online:
    """A factorisation that learns from one block of samples at a time and keeps none of them.

    `push` finds the weights of a block for the parts as they are, with an optimality gap for every
    sample, and then learns from the block. The first blocks count more than later ones. Two passes over
    shuffled data come within a few per cent of `factorize`.

    Parameters
    ----------
    rank : int
        Number of parts.
    forgetting : float
        Least weight of a new block, from 0 to 1. 0 suits data that do not change. With 0.1, the last ten
        blocks or so determine the parts, which then follow data that drift.
    tol : float
        Tolerance of the weights, relative to the sum of a sample. The parts move anyway, so it is large.
    seed : int
        Seed of the random start.
    threads : int, optional
        Number of threads; one per core by default. The result does not depend on it.
    n_jobs : int, optional
        scikit-learn's name of `threads`: -1 means one per core, -2 one fewer.

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> online = klnmf.Online(3)
    >>> random = np.random.default_rng(0)
    >>> for _ in range(20):
    ...     found = online.push(random.poisson(2.0, (30, 50)))
    >>> online.W.shape, found.H.shape, online.blocks
    ((30, 3), (3, 50), 20)
    """

    def __init__(
        self,
        rank: int,
        *,
        forgetting: float = 0.0,
        tol: float = 1e-2,
        seed: int = 0,
        threads: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self._settings = (
            number("forgetting", forgetting),
            count("seed", seed),
            number("tol", tol),
            thread_count(threads, n_jobs),
        )
        self._features: list[str] | None = None
        self._native = _klnmf.Online(count("rank", rank, 1), None, *self._settings)

    @property
    def W(self) -> NDArray[np.float64]:
        """The parts as learned so far, features × parts. Every part sums to 1."""
        return self._native.dictionary()

    @property
    def features(self) -> Labels:
        """The labels of the features, if the blocks were data frames."""
        return None if self._features is None else np.array(self._features)

    @property
    def rank(self) -> int:
        """Number of parts."""
        return self._native.state()[1].shape[0]

    @property
    def blocks(self) -> int:
        """Number of blocks so far."""
        return self._native.state()[0]

    def push(self, V: Any) -> Decomposition:
        """Learn from a block, and return its weights for the parts as they were before.

        New features may appear. In a data frame, features are matched by label: those that the block lacks
        count as zero. In an array they are matched by position, and new ones come last.

        Parameters
        ----------
        V : array-like, scipy.sparse matrix or data frame of shape (features, samples)
            The block.

        Returns
        -------
        Decomposition
            H, and for every sample its divergence and optimality gap. They refer to W, in which features
            that occur for the first time had random shares; the W of the result is without these.
        """
        call = call_of(Online.push, locals())
        V, labels, samples = labelled(V)
        V, before = matrix(V), self.W
        features = self._features
        if labels is not None:
            features, V = self._aligned(V, [str(label) for label in labels])
        elif features is not None:
            raise ValueError(
                "V has no labels, but earlier blocks had: give a data frame, whose features are matched"
            )
        *found, data = self._native.push(V)
        self._features = features
        about = {"call": call, "tol": self._settings[2], "data_hash": data}
        return Decomposition(*found, before, None, samples, None, about)

    def _aligned(self, V: Any, labels: list[str]) -> tuple[list[str], Any]:
        """All features so far, and V with one row for each of them."""
        if self._features is None and self.blocks > 0:
            raise ValueError("V has labels, but earlier blocks had none: give plain arrays in the same order")
        at = {label: i for i, label in enumerate(self._features or [])}
        for label in labels:
            at.setdefault(label, len(at))
        if len(set(labels)) < len(labels):
            twice = next(label for label in labels if labels.count(label) > 1)
            raise ValueError(f"the feature {twice!r} occurs twice in V: give every feature its own label")
        places = np.array([at[label] for label in labels], dtype=np.intp)
        shape = (len(at), V.shape[1])
        if is_sparse(V):
            entries = V.tocoo()
            new = type(entries)((entries.data, (places[entries.row], entries.col)), shape=shape).tocsr()
        else:
            new = np.zeros(shape, V.dtype)
            new[places] = V
        return list(at), new

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Save what was learned as an .npz file. `Online.load` continues from it to the same bits.

        Parameters
        ----------
        path : str or path
            Name of the file; it must end in .npz.
        overwrite : bool
            Replace an existing file. It stays as it is if the new one cannot be written in full.
        """
        path = new_file(path, overwrite)
        blocks, parts, shares = self._native.state()
        forgetting, seed, tol, _ = self._settings
        facts = {"online": _FORMAT, "version": _klnmf.__version__, "blocks": blocks}
        facts |= {"forgetting": forgetting, "seed": seed, "tol": tol}
        arrays: dict[str, Any] = {"parts": parts, "shares": shares, "facts": np.array(json.dumps(facts))}
        if self._features is not None:
            arrays["features"] = np.array(self._features, dtype=np.str_)
        content = io.BytesIO()
        np.savez(content, **arrays)
        _klnmf.write_file(path, overwrite, content.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, threads: int | None = None) -> Online:
        """Continue from a file that `save` has written.

        Parameters
        ----------
        path : str or path
            Name of the file. A file of a later version of klnmf is refused.
        threads : int, optional
            Number of threads; one per core by default.

        Returns
        -------
        Online
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                facts = json.loads(str(file["facts"]))
                parts, shares = file["parts"], file["shares"]
                features = [str(name) for name in file["features"]] if "features" in file else None
            form, blocks = facts["online"], facts["blocks"]
            settings = facts["forgetting"], facts["seed"], facts["tol"]
        except (KeyError, ValueError, TypeError, EOFError) as damage:
            raise ValueError(f"{path} is not the state of a klnmf.Online: give a file of its `save`") from damage
        if form > _FORMAT:
            theirs = facts.get("version")
            raise ValueError(f"{path} was written by klnmf {theirs}: install that version or a newer one")
        new = cls.__new__(cls)
        new._restore((blocks, parts, shares), (*settings, thread_count(threads)), features)
        return new

    def _restore(self, state: Any, settings: Any, features: list[str] | None) -> None:
        self._settings, self._features = settings, features
        self._native = _klnmf.Online(state[1].shape[0], state, *settings)

    def __getstate__(self) -> Any:
        return self._native.state(), self._settings, self._features

    def __setstate__(self, state: Any) -> None:
        self._restore(*state)

    def __repr__(self) -> str:
        blocks, parts, _ = self._native.state()
        return f"<klnmf.Online: {parts.shape[1]} features × {parts.shape[0]} parts, {blocks} blocks>"
