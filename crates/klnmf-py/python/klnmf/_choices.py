"""The names that arguments can have."""

from __future__ import annotations

from typing import Literal

Solver = Literal["auto", "fpa", "simplex", "mu", "mue", "newton", "admm"]
Init = Literal["random", "nndsvd"]
SklearnInit = Literal["random", "nndsvd", "nndsvda", "nndsvdar", "custom"]
Update = Literal["both", "W", "H"]
