"""The allowed values of arguments."""

from __future__ import annotations

from typing import Literal

# Type checkers need the names spelled out. A test compares them with `_klnmf.solvers()`.
Solver = Literal[
    "auto",
    "fpa",
    "simplex",
    "mu",
    "mue",
    "newton",
    "stream",
    "admm",
    "fpa-authors",
    "fpa-printed",
    "mu-authors",
    "admm-authors",
]
Init = Literal["random", "nndsvd"]
SklearnInit = Literal["random", "nndsvd", "nndsvda", "nndsvdar", "custom"]
Update = Literal["both", "W", "H"]
