"""Non-negative matrix factorisation with the Kullback-Leibler divergence.

V (features × samples) is approximated by W·H, with parts W (features × parts) and weights H (parts ×
samples), all non-negative, so that the generalised Kullback-Leibler divergence D(V‖WH) is small.

`decompose` finds the weights for given parts, with an optimality gap for every column: a bound on its
distance to the optimum. `factorize` reports two single-factor gaps: what changing W alone or H alone could
still gain. Another start may end lower.

>>> import numpy as np
>>> import klnmf
>>> V = np.random.default_rng(0).poisson(3.0, (30, 50))
>>> model = klnmf.factorize(V, rank=4)
>>> model.W.shape, model.H.shape, model.status
((30, 4), (4, 50), 'converged')

The functions take numpy arrays and scipy.sparse matrices in f32 or f64, and read them in place. The
estimators `KLNMF` and `TopicModel` follow scikit-learn, where data are samples × features.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from klnmf._core import certificate, decompose, factorize, grow, init
from klnmf._decomposer import Decomposer
from klnmf._klnmf import __version__, instruction_level
from klnmf._load import load
from klnmf._memory import memory
from klnmf._online import Online
from klnmf._results import (
    Certificate,
    Decomposition,
    Info,
    Memory,
    Result,
    Separation,
    Start,
    TopicInfo,
    Topics,
)
from klnmf._select import Consensus, Dispersion, Match, Ranks, consensus, match, rank
from klnmf._sound import separate, spectrogram
from klnmf._topics import topic_weights, topics

if TYPE_CHECKING:
    from klnmf import plot as plot
    from klnmf import scanpy as scanpy
    from klnmf import sklearn as sklearn
    from klnmf._nmf import KLNMF as KLNMF
    from klnmf._topic_model import TopicModel as TopicModel

__all__ = [
    "Certificate",
    "Consensus",
    "Decomposer",
    "Decomposition",
    "Dispersion",
    "Info",
    "Match",
    "Memory",
    "Online",
    "Ranks",
    "Result",
    "Separation",
    "Start",
    "TopicInfo",
    "Topics",
    "__version__",
    "certificate",
    "consensus",
    "decompose",
    "factorize",
    "grow",
    "init",
    "instruction_level",
    "load",
    "match",
    "memory",
    "rank",
    "separate",
    "spectrogram",
    "topic_weights",
    "topics",
]

# These names need other packages, which are imported on first use because they load slowly. Each name has the
# package it needs. `import *` does not import them, because two are the names of other modules.
_LATER = {
    "KLNMF": "sklearn",
    "TopicModel": "sklearn",
    "plot": "matplotlib",
    "scanpy": "anndata",
    "sklearn": "sklearn",
}

_ESTIMATORS = {"KLNMF": "klnmf._nmf", "TopicModel": "klnmf._topic_model"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'klnmf' has no attribute {name!r}")
    try:
        if name in _ESTIMATORS:
            return getattr(importlib.import_module(_ESTIMATORS[name]), name)
        return importlib.import_module(f"klnmf.{name}")
    except ImportError as missing:
        # hasattr and help expect an AttributeError, but `from klnmf import …` would drop its text.
        importing = sys._getframe(1).f_code.co_name == "_handle_fromlist"
        raise (ImportError if importing else AttributeError)(str(missing)) from missing


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name, needs in _LATER.items() if find_spec(needs))])
