"""What the functions return."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Info(NamedTuple):
    """How far a factorisation has come; what a callback is told."""

    iteration: int
    """Accesses to the data so far: a step on H and a step on W together are one."""
    seconds: float
    """Seconds of work so far, without the evaluation of certificates."""
    divergence: float
    """D(V‖WH)."""
    gap_w: float
    """No change of W alone can lower the divergence by more than this."""
    gap_h: float
    """No change of H alone can lower the divergence by more than this."""
    sum: float
    """ΣV, to which gaps are compared."""
    precision: str
    """What the iterations so far used: 'f32', 'f64', or 'mixed' for f32 first and then f64."""
    update: str = "both"
    """Which factors move: 'both', 'W' or 'H'."""

    @property
    def relative_gap(self) -> float:
        """The larger gap of the factors that move, relative to ΣV: what the tolerance is compared with."""
        gap = {"W": self.gap_w, "H": self.gap_h}.get(self.update, max(self.gap_w, self.gap_h))
        return gap / self.sum if self.sum > 0 else gap


class TopicInfo(NamedTuple):
    """How far the fitting of a topic model has come; what its callback is told."""

    iteration: int
    """Accesses to the data so far."""
    seconds: float
    """Seconds on the clock."""
    objective: float
    """The divergence, with the penalty of the pseudo-counts."""


class Certificate(NamedTuple):
    """What is known of factors from anywhere."""

    divergence: float
    """D(V‖WH)."""
    gap_w: float
    """No change of W alone can lower the divergence by more than this."""
    gap_h: float
    """No change of H alone can lower the divergence by more than this."""


class Memory(NamedTuple):
    """Bytes that a factorisation takes at most."""

    v: int
    """V as it is stored. It is held twice, by columns and by rows."""
    factors: int
    """W and H."""
    workspace: int
    """64 MiB, the work of each thread, and something for every row and column."""
    total: int
    """2·v + 12·factors + workspace."""


def _shape(array: NDArray) -> str:
    return " × ".join(map(str, array.shape)) + f" {array.dtype}"


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """A factorisation V ≈ WH with its certificate."""

    W: NDArray
    """features × parts; every column that is not zero sums to 1, unless one factor was fixed."""
    H: NDArray
    """parts × samples."""
    info: Info
    """Iterations, time and certificate of exactly these factors."""
    trace: NDArray
    """One record for every certificate on the way, with the fields of `Info` that are numbers."""
    status: str
    """Why it ended: 'converged', 'iteration limit', 'time limit' or 'stopped'."""

    @property
    def divergence(self) -> float:
        """D(V‖WH)."""
        return self.info.divergence

    @property
    def gap_w(self) -> float:
        """No change of W alone can lower the divergence by more than this."""
        return self.info.gap_w

    @property
    def gap_h(self) -> float:
        """No change of H alone can lower the divergence by more than this."""
        return self.info.gap_h

    @property
    def relative_gap(self) -> float:
        """The larger gap of the factors that move, relative to ΣV: what `tol` is compared with."""
        return self.info.relative_gap

    @property
    def iterations(self) -> int:
        """Accesses to the data."""
        return self.info.iteration

    @property
    def converged(self) -> bool:
        """Whether the gap is within the tolerance."""
        return self.status == "converged"

    def __repr__(self) -> str:
        return (
            f"Result(W: {_shape(self.W)}, H: {_shape(self.H)}, divergence={self.divergence:.6g}, "
            f"relative_gap={self.relative_gap:.1e}, iterations={self.iterations}, "
            f"status={self.status!r})"
        )


@dataclass(frozen=True, repr=False, eq=False)
class Decomposition:
    """The weights of every column for a fixed dictionary, with a certificate each."""

    H: NDArray
    """parts × samples."""
    divergences: NDArray[np.float64]
    """D(v‖Wh) of every column."""
    gaps: NDArray[np.float64]
    """No other weights of a column have a divergence lower by more than this."""
    iterations: NDArray[np.int64]
    """Steps taken for every column."""
    columns_converged: NDArray[np.bool_]
    """Whether the gap of a column is within the tolerance."""
    status: str
    """Why it ended: 'converged' if every column has."""

    @property
    def converged(self) -> bool:
        """Whether every column is within the tolerance."""
        return self.status == "converged"

    @property
    def divergence(self) -> float:
        """D(V‖WH): the sum over the columns."""
        return float(self.divergences.sum())

    @property
    def gap(self) -> float:
        """No H has a divergence lower by more than this: the sum over the columns."""
        return float(self.gaps.sum())

    @property
    def unconverged(self) -> int:
        """How many columns did not reach the tolerance."""
        return int(np.count_nonzero(~self.columns_converged))

    def __repr__(self) -> str:
        return (
            f"Decomposition(H: {_shape(self.H)}, divergence={self.divergence:.6g}, "
            f"gap={self.gap:.1e}, unconverged={self.unconverged}, status={self.status!r})"
        )


@dataclass(frozen=True, repr=False, eq=False)
class Topics:
    """A topic model, or the weights of documents for a given one."""

    topics: NDArray
    """topics × words; rows sum to 1. The topic that explains most words comes first."""
    weights: NDArray
    """documents × topics; rows sum to 1. An empty document has even weights."""
    gaps: NDArray[np.float64]
    """No other weights of a document have a log-posterior higher by more than this, in nats."""
    log_likelihood: NDArray[np.float64]
    """Of every document, without the multinomial coefficient."""
    words: float
    """Words in the corpus."""
    unconverged: int
    """How many documents did not reach the tolerance of their weights."""
    iterations: int
    """Accesses to the data; 0 where the topics were given."""
    trace: NDArray
    """One record for every look at the objective, with the fields of `TopicInfo`."""
    status: str
    """Why it ended."""

    @property
    def converged(self) -> bool:
        """Whether it ended within its tolerance."""
        return self.status == "converged"

    @property
    def perplexity(self) -> float:
        """exp(−log-likelihood for each word)."""
        return float(np.exp(-self.log_likelihood.sum() / self.words)) if self.words > 0 else 1.0

    def __repr__(self) -> str:
        return (
            f"Topics(topics: {_shape(self.topics)}, weights: {_shape(self.weights)}, "
            f"perplexity={self.perplexity:.6g}, status={self.status!r})"
        )


@dataclass(frozen=True, repr=False, eq=False)
class Separation:
    """The stems of a sound and the model they come from. Unpacks as `stems, W, H`."""

    stems: NDArray
    """stems × samples, or stems × channels × samples. They add up to the sound."""
    W: NDArray
    """bins × components."""
    H: NDArray
    """components × frames."""
    model: Result | Decomposition
    """With its certificate."""

    def __iter__(self) -> Iterator[NDArray]:
        return iter((self.stems, self.W, self.H))

    def __repr__(self) -> str:
        return f"Separation(stems: {_shape(self.stems)}, {self.model!r})"
