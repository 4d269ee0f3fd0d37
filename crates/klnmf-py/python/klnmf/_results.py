"""The results of the functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from klnmf._files import Saved, word_of
from klnmf._labels import Labels, Named, frame, numbered
from klnmf._words import top_words


class Info(NamedTuple):
    """The progress of a factorisation; the argument of a callback."""

    iteration: int
    """Iterations so far. One iteration updates H and W."""
    seconds: float
    """Seconds of work so far, without the computation of the gaps."""
    divergence: float
    """D(V‖WH)."""
    gap_w: float
    """What changing W alone could still gain: no W has a divergence lower by more than this."""
    gap_h: float
    """What changing H alone could still gain: no H has a divergence lower by more than this."""
    sum: float
    """ΣV."""
    precision: str
    """The precision of the iterations so far: 'f32', 'f64', or 'mixed' for f32 first and then f64."""
    update: str = "both"
    """Which factors are updated: 'both', 'W' or 'H'."""

    @property
    def unit(self) -> float:
        """What gaps are relative to: the divergence, but at least 1e-5 of ΣV, and in f32 1e-2 of it."""
        return max(self.divergence, (1e-2 if self.precision == "f32" else 1e-5) * self.sum)

    @property
    def relative_gap(self) -> float:
        """The larger gap of the updated factors, relative to `unit`. The tolerance is compared with this."""
        gap = {"W": self.gap_w, "H": self.gap_h}.get(self.update, max(self.gap_w, self.gap_h))
        return gap / self.unit if 0 < gap < np.inf else gap


class Start(NamedTuple):
    """How far one of several starts came."""

    seed: int
    """Its seed."""
    iterations: int
    """The iterations after which it was stopped, or ended."""
    divergence: float
    """D(V‖WH) at that time. Starts that did not finish could have decreased further."""
    finished: bool
    """Whether it ran to its end."""


class TopicInfo(NamedTuple):
    """The progress of a topic model; the argument of its callback."""

    iteration: int
    """Iterations so far."""
    seconds: float
    """Elapsed seconds."""
    objective: float
    """The divergence plus the penalty of the pseudo-counts."""


class Certificate(NamedTuple):
    """The divergence and the single-factor gaps of any factors."""

    divergence: float
    """D(V‖WH)."""
    gap_w: float
    """What changing W alone could still gain: no W has a divergence lower by more than this."""
    gap_h: float
    """What changing H alone could still gain: no H has a divergence lower by more than this."""


class Memory(NamedTuple):
    """Upper bound of the memory of a factorisation, in bytes."""

    v: int
    """V as it is stored. It is stored twice, by columns and by rows."""
    factors: int
    """W and H."""
    workspace: int
    """64 MiB, the workspace of each thread, and a little for every row and column."""
    total: int
    """2·v + 12·factors + workspace."""


def _shape(array: NDArray) -> str:
    return " × ".join(map(str, array.shape)) + f" {array.dtype}"


@dataclass(frozen=True, repr=False, eq=False)
class Result(Named, Saved):
    """A factorisation V ≈ WH with its single-factor gaps."""

    W: NDArray
    """The parts, features × parts. Columns that are not zero sum to 1, unless one factor was fixed.

    The part with the largest share of W·H comes first, unless the start was given.
    """
    H: NDArray
    """The weights, parts × samples."""
    info: Info
    """Iterations, time, divergence and gaps of these factors."""
    trace: NDArray
    """One record every `check_every` iterations (default 10), with the numeric fields of `Info`."""
    status: str
    """Why it ended: 'converged', 'iteration limit', 'time limit' or 'stopped'."""
    features: Labels = None
    """The labels of the rows of V, if it had any."""
    samples: Labels = None
    """The labels of the columns of V, if it had any."""
    parts: Labels = None
    """The labels of the parts, if they have any."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """How it was made: call, seed and a hash of the data. `save` adds the rest."""
    starts: tuple[Start, ...] = ()
    """How far each start came, if there were several."""

    @property
    def divergence(self) -> float:
        """D(V‖WH)."""
        return self.info.divergence

    @property
    def gap_w(self) -> float:
        """What changing W alone could still gain: no W has a divergence lower by more than this."""
        return self.info.gap_w

    @property
    def gap_h(self) -> float:
        """What changing H alone could still gain: no H has a divergence lower by more than this."""
        return self.info.gap_h

    @property
    def relative_gap(self) -> float:
        """The larger gap of the updated factors, relative to the divergence. `tol` is compared with this."""
        return self.info.relative_gap

    @property
    def iterations(self) -> int:
        """Number of iterations."""
        return self.info.iteration

    @property
    def converged(self) -> bool:
        """Whether the gap is within the tolerance."""
        return self.status == "converged"

    def _model(self) -> Any:
        facts = self.info._asdict() | {"iterations": self.iterations, "relative_gap": self.relative_gap}
        facts |= {"status": word_of(self.status), "rank": len(self.H)}
        facts["shape"] = [len(self.W), self.H.shape[1]]
        # These differ between runs, or are there under the program's name.
        del facts["seconds"], facts["iteration"]
        return self.W, self.H, (self.features, self.samples, self.parts), facts, {}

    def __repr__(self) -> str:
        return (
            f"Result(W: {_shape(self.W)}, H: {_shape(self.H)}, divergence={self.divergence:.6g}, "
            f"relative_gap={self.relative_gap:.1e}, iterations={self.iterations}, "
            f"status={self.status!r})"
        )


@dataclass(frozen=True, repr=False, eq=False)
class Decomposition(Named, Saved):
    """The weights for fixed parts, with an optimality gap for every column."""

    H: NDArray
    """The weights, parts × samples."""
    divergences: NDArray[np.float64]
    """D(v‖Wh) of every column."""
    gaps: NDArray[np.float64]
    """The optimality gap of every column: no other weights have a divergence lower by more than this."""
    iterations: NDArray[np.int64]
    """Iterations of every column."""
    columns_converged: NDArray[np.bool_]
    """Whether the gap of a column is within the tolerance."""
    status: str
    """Why it ended: 'converged' if every column has converged."""
    W: NDArray
    """The parts, features × parts, with the features in the order of the data."""
    features: Labels = None
    """The labels of the rows of V, if it had any."""
    samples: Labels = None
    """The labels of the columns of V, if it had any."""
    parts: Labels = None
    """The labels of the parts, if they have any."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """How it was made: call, seed and a hash of the data. `save` adds the rest."""

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
        """The optimality gap of H: the sum over the columns."""
        return float(self.gaps.sum())

    @property
    def unconverged(self) -> int:
        """Number of columns that did not reach the tolerance."""
        return int(np.count_nonzero(~self.columns_converged))

    def _model(self) -> Any:
        facts = {
            "status": word_of(self.status),
            "divergence": self.divergence,
            "gap": self.gap,
            "unconverged": self.unconverged,
            "iterations": int(self.iterations.max(initial=0)),
            "shape": [len(self.W), self.H.shape[1]],
            "rank": len(self.H),
        }
        columns = {"divergence": self.divergences, "gap": self.gaps, "iterations": self.iterations}
        columns["converged"] = self.columns_converged
        return self.W, self.H, (self.features, self.samples, self.parts), facts, columns

    def __repr__(self) -> str:
        return (
            f"Decomposition(H: {_shape(self.H)}, divergence={self.divergence:.6g}, "
            f"gap={self.gap:.1e}, unconverged={self.unconverged}, status={self.status!r})"
        )


@dataclass(frozen=True, repr=False, eq=False)
class Topics(Saved):
    """A topic model, or the weights of documents for a given one."""

    topics: NDArray
    """topics × words; rows sum to 1. The topic that explains most words comes first."""
    weights: NDArray
    """documents × topics; rows sum to 1. An empty document has even weights."""
    gaps: NDArray[np.float64]
    """Optimality gaps: no other weights of a document have a log-posterior higher by more, in nats."""
    log_likelihood: NDArray[np.float64]
    """The log-likelihood of every document, without the multinomial coefficient."""
    words: float
    """Number of words in the corpus."""
    unconverged: int
    """Number of documents whose weights did not reach the tolerance."""
    iterations: int
    """Number of iterations; 0 if the topics were given."""
    trace: NDArray
    """One record for every ten iterations, with the fields of `TopicInfo`."""
    status: str
    """Why it ended."""
    features: Labels = None
    """The words, if the counts had labels."""
    samples: Labels = None
    """The labels of the documents, if they had any."""
    parts: Labels = None
    """The labels of the topics, if they have any."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """How it was made: call, seed and a hash of the data. `save` adds the rest."""

    def to_frames(self) -> tuple[Any, Any]:
        """The topics (topics × words) and the weights (documents × topics) as pandas data frames.

        Returns
        -------
        topics : pandas.DataFrame
        weights : pandas.DataFrame
        """
        parts = numbered(len(self.topics), "topic") if self.parts is None else self.parts
        return frame(self.topics, parts, self.features), frame(self.weights, self.samples, parts)

    def top_words(
        self, n: int = 10, names: Sequence[str] | Mapping[Any, Any] | None = None
    ) -> list[list[str]]:
        """List the `n` most probable words of every topic.

        Parameters
        ----------
        n : int
            Number of words per topic.
        names : sequence of str or mapping, optional
            The vocabulary, as in `TopicModel.top_words`. By default `features`, or column numbers.

        Returns
        -------
        list of list of str
        """
        return top_words(self.topics, n, self.features if names is None else names)

    def _model(self) -> Any:
        facts = {
            "status": word_of(self.status),
            "sum": self.words,
            "perplexity": self.perplexity,
            "largest_gap": float(self.gaps.max(initial=0)),
            "unconverged": self.unconverged,
            "iterations": self.iterations,
            "topics": len(self.topics),
        }
        columns = {"gap": self.gaps, "log_likelihood": self.log_likelihood}
        return self.topics.T, self.weights.T, (self.features, self.samples, self.parts), facts, columns

    @property
    def converged(self) -> bool:
        """Whether it ended within its tolerance."""
        return self.status == "converged"

    @property
    def perplexity(self) -> float:
        """exp(−log-likelihood per word)."""
        return float(np.exp(-self.log_likelihood.sum() / self.words)) if self.words > 0 else 1.0

    def __repr__(self) -> str:
        return (
            f"Topics(topics: {_shape(self.topics)}, weights: {_shape(self.weights)}, "
            f"perplexity={self.perplexity:.6g}, status={self.status!r})"
        )


@dataclass(frozen=True, repr=False, eq=False)
class Separation(Saved):
    """The stems of a sound and their model. Unpacks as `stems, W, H`."""

    stems: NDArray
    """stems × samples, or stems × channels × samples. They add up to the sound."""
    W: NDArray
    """bins × components."""
    H: NDArray
    """components × frames."""
    model: Result | Decomposition
    """The model of the spectrogram, with its gaps."""
    names: tuple[str, ...]
    """The sources of the stems: `separation["piano"]` is the stem of that name."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """How it was made: call, rate, windows, and what the model says of itself."""

    def to_frames(self) -> tuple[Any, Any]:
        """W (bins × components) and H (components × frames) as data frames, with the names of sources.

        Returns
        -------
        W : pandas.DataFrame
        H : pandas.DataFrame
        """
        return self.model.to_frames()

    def _model(self) -> Any:
        return self.model._model()

    def __iter__(self) -> Iterator[NDArray]:
        return iter((self.stems, self.W, self.H))

    def __getitem__(self, name: str) -> NDArray:
        if name not in self.names:
            raise KeyError(f"no stem is named {name!r}: choose one of {', '.join(self.names)}")
        return self.stems[self.names.index(name)]

    def __repr__(self) -> str:
        return f"Separation(stems: {_shape(self.stems)}, {self.model!r})"
