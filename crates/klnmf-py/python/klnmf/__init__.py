"""Non-negative matrix factorisation with the Kullback-Leibler divergence, certified.

V (features × samples) is split into W (features × parts) and H (parts × samples), all non-negative, so
that the generalised Kullback-Leibler divergence D(V‖WH) is small. Every answer says how far from
optimal it can be.

>>> import numpy as np
>>> import klnmf
>>> V = np.random.default_rng(0).poisson(3.0, (30, 50))
>>> model = klnmf.factorize(V, rank=4)
>>> model.W.shape, model.H.shape, model.status
((30, 4), (4, 50), 'converged')

The functions take numpy arrays and scipy.sparse matrices, in f32 or f64, and read them where they
lie. The estimators `KLNMF` and `TopicModel` follow scikit-learn, where data are samples × features.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from klnmf._core import certificate, decompose, factorize, grow, init, memory
from klnmf._klnmf import __version__
from klnmf._results import (
    Certificate,
    Decomposition,
    Info,
    Memory,
    Result,
    Separation,
    TopicInfo,
    Topics,
)
from klnmf._sound import separate, spectrogram
from klnmf._topics import topic_weights, topics

if TYPE_CHECKING:
    from klnmf import plot, scanpy, sklearn
    from klnmf._estimators import KLNMF, TopicModel

__all__ = [
    "KLNMF",
    "Certificate",
    "Decomposition",
    "Info",
    "Memory",
    "Result",
    "Separation",
    "TopicInfo",
    "TopicModel",
    "Topics",
    "__version__",
    "certificate",
    "decompose",
    "factorize",
    "grow",
    "init",
    "memory",
    "plot",
    "scanpy",
    "separate",
    "sklearn",
    "spectrogram",
    "topic_weights",
    "topics",
]

# What needs other packages is imported when it is first asked for: they take longer than we do.
_LATER = {"KLNMF": "_estimators", "TopicModel": "_estimators"}
_MODULES = {"plot", "scanpy", "sklearn"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"klnmf.{name}")
    if name in _LATER:
        try:
            return getattr(importlib.import_module(f"klnmf.{_LATER[name]}"), name)
        except ModuleNotFoundError as missing:
            raise ImportError(f"klnmf.{name} needs scikit-learn: pip install scikit-learn") from missing
    raise AttributeError(f"module 'klnmf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
