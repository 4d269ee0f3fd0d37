"""Models as files: the .npz that the program writes, and reads."""

from __future__ import annotations

import inspect
import json
import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from klnmf import _klnmf
from klnmf._data import number
from klnmf._labels import texts

# The program's words for a status.
_STATUS = {"iteration limit": "iteration_limit", "time limit": "time_limit", "stopped": "interrupted"}


class Saved:
    """A result that can be saved."""

    metadata: dict[str, Any]

    def _model(self) -> tuple[NDArray, NDArray, Any, dict[str, Any], dict[str, NDArray]]:
        """W, H, the labels of features, samples and parts, facts, and a number for every sample."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Save the result as an .npz file, which `klnmf.load`, the program and numpy read.

        It holds the factors, the labels (as text), and how the result was made: version, call, seed,
        instruction level and a hash of the data. The trace is not saved.

        Parameters
        ----------
        path : str or path
            Name of the file; it must end in .npz.
        overwrite : bool
            Replace an existing file. It stays as it is if the new one cannot be written in full.
        """
        path = new_file(path, overwrite)
        W, H, labels, facts, columns = self._model()
        names = tuple(texts(each) for each in labels)
        text = json.dumps(_plain({**self.metadata, **facts}), ensure_ascii=False)
        numbers = [(name, np.asarray(column, float).tolist()) for name, column in columns.items()]
        _klnmf.write_model(path, overwrite, W, H, text, names, numbers)


def npz_name(path: str | os.PathLike[str], what: str) -> str:
    """The name of a file that must be a .npz file."""
    name = os.fspath(path)
    if not name.endswith(".npz"):
        raise ValueError(f"{name}: the {what} is a .npz file; give a name that ends in .npz")
    return name


def checkpoint_files(checkpoint: Any, resume: Any, every: float) -> tuple[str | None, str | None, float]:
    """The file to write, the file to continue from, and the seconds between two writes."""
    old = None if resume is None else os.fspath(resume)
    new = None if checkpoint is None else npz_name(checkpoint, "checkpoint")
    if new is not None and new != old and os.path.lexists(new):
        raise FileExistsError(f"{new} exists: continue from it with resume, or give another name")
    folder = os.path.dirname(new or "") or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{folder} is not a folder: make it, or give another name for the checkpoint")
    return new, old, number("every", every)


def new_file(path: str | os.PathLike[str], overwrite: bool) -> str:
    """The name of an .npz file that may be written."""
    name = npz_name(path, "result")
    if not overwrite and os.path.lexists(name):
        raise FileExistsError(f"{name} exists: give another name, or overwrite=True")
    return name


def read(path: str | os.PathLike[str]) -> tuple[NDArray, NDArray, dict, tuple, dict]:
    """W, H, facts, the labels of features, samples and parts, and a number for every sample."""
    W, H, text, names, columns = _klnmf.read_model(os.fspath(path))
    facts = json.loads(text) if text else {}
    labels = tuple(None if each is None else np.array(each) for each in names)
    numbers = {name: np.array(column) for name, column in columns}
    if "status" in facts:
        words = {theirs: ours for ours, theirs in _STATUS.items()}
        facts["status"] = words.get(facts["status"], facts["status"])
    return W, H, facts, labels, numbers


def word_of(status: str) -> str:
    """The program's word for a status."""
    return _STATUS.get(status, status)


def call_of(function: Callable[..., Any], given: dict[str, Any]) -> str:
    """The call of a function, without the arguments that have their default values."""
    shown = []
    for name, parameter in inspect.signature(function).parameters.items():
        value = given.get(name)
        if parameter.default is inspect.Parameter.empty:
            shown.append(name)
        elif not _same(value, parameter.default):
            plain = isinstance(value, (bool, int, float, str, np.generic))
            shown.append(f"{name}={value!r}" if plain else f"{name}=<{type(value).__name__}>")
    return f"klnmf.{function.__qualname__}({', '.join(shown)})"


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and value == default)


def _plain(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts as JSON has them: numbers of Python, and null for what is not finite."""
    plain = {}
    for name, value in facts.items():
        value = value.item() if isinstance(value, np.generic) else value
        plain[name] = None if isinstance(value, float) and not math.isfinite(value) else value
    return plain
