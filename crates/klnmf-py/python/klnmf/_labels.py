"""The labels of data: names of features, samples and parts."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._warn import warn

Labels = NDArray | None


class Labelled(NamedTuple):
    """A matrix and the labels of its rows and columns; None where it has none."""

    matrix: Any
    rows: Labels = None
    columns: Labels = None

    @property
    def T(self) -> Labelled:
        """The transposed matrix."""
        return Labelled(self.matrix.T, self.columns, self.rows)


def labelled(V: Any) -> Labelled:
    """V as features × samples: a data frame, a plain matrix, or an AnnData object, which is transposed."""
    if isinstance(V, Labelled):
        return V
    if is_a(V, "anndata", "AnnData"):
        return Labelled(V.X, V.obs_names.to_numpy(), V.var_names.to_numpy()).T
    if not is_a(V, "pandas", "DataFrame"):
        return Labelled(V)
    return Labelled(_numbers(V), V.index.to_numpy(), V.columns.to_numpy())


def texts(labels: Labels) -> list[str] | None:
    """Labels as they are written to files."""
    return None if labels is None else [str(label) for label in labels]


def row_labels(X: Any) -> Labels:
    """The labels of the rows of a data frame; None for everything else."""
    return X.index.to_numpy() if is_a(X, "pandas", "DataFrame") else None


def documents(counts: Any) -> Labelled:
    """Counts as documents × words; an AnnData object is not transposed."""
    found = labelled(counts)
    return found.T if is_a(counts, "anndata", "AnnData") else found


def dictionary(W: Any) -> Labelled:
    """Parts as features × parts: a model, or what `labelled` takes."""
    if hasattr(W, "topics"):
        return Labelled(W.topics.T, W.features, W.parts)
    return Labelled(W.W, W.features, W.parts) if hasattr(W, "W") else labelled(W)


def matched(
    ours: Labels, A: Labelled, axis: int, data: str = "V", name: str = "W", *, warns: bool = False
) -> Labelled:
    """A with its rows (axis 0) or columns (1) in the order of `ours`, the labels of the data.

    Without labels on both sides, they are matched by position. `warns`: say so if one side has names.
    """
    theirs = (A.rows, A.columns)[axis]
    if ours is None or theirs is None:
        if warns:
            _warn_of_position((ours, data), (theirs, name))
        return A
    mine, others = [str(label) for label in ours], [str(label) for label in theirs]
    if mine == others:
        return A
    places = _places(mine, others, data, name)
    if axis:
        return Labelled(np.asarray(A.matrix)[:, places], A.rows, ours)
    return Labelled(np.asarray(A.matrix)[places], ours, A.columns)


def _warn_of_position(*sides: tuple[Labels, str]) -> None:
    """Warn if one side has names and the other has no labels. The numbers of a plain index are no names."""
    named = [side for labels, side in sides if labels is not None and any(isinstance(x, str) for x in labels)]
    bare = [side for labels, side in sides if labels is None]
    if named and bare:
        warn(
            f"{named[0]} has names and {bare[0]} has none, so features are matched by position: give both names, "
            "in any order, or neither",
            UserWarning,
        )


def _places(mine: list[str], others: list[str], data: str, name: str) -> list[int]:
    """The positions of our labels among the others."""
    at = {label: i for i, label in enumerate(others)}
    known = set(mine)
    lacks = [
        f"{whose} has no {_few(missing)}"
        for whose, missing in (
            (name, [label for label in mine if label not in at]),
            (data, [label for label in others if label not in known]),
        )
        if missing
    ]
    if lacks:
        trouble = "; ".join(lacks)
    elif len(known) < len(mine) or len(at) < len(others):
        counts = [Counter(mine), Counter(others)]
        twice = next(label for label in mine + others if max(count[label] for count in counts) > 1)
        trouble = f"{twice!r} occurs twice"
    else:
        return [at[label] for label in mine]
    raise ValueError(
        f"the labels of {data} and {name} differ: {trouble}. Give both the same labels, in any order, or "
        "plain arrays, which are matched by position"
    )


def _few(labels: list[str], most: int = 3) -> str:
    """The first labels and the number of the others."""
    shown = ", ".join(map(repr, labels[:most]))
    return shown if len(labels) <= most else f"{shown} and {len(labels) - most} more"


def is_a(V: Any, module: str, name: str) -> bool:
    """Whether V is of a class. Its module is not imported: if V is one, it has been imported already."""
    found = sys.modules.get(module)
    return found is not None and isinstance(V, getattr(found, name))


def _numbers(frame: Any) -> Any:
    """The numbers of a data frame; sparse ones stay sparse."""
    pandas = sys.modules["pandas"]
    kinds = frame.dtypes
    if len(kinds) and all(isinstance(kind, pandas.SparseDtype) and kind.fill_value == 0 for kind in kinds):
        return frame.sparse.to_coo().tocsr()
    numbers = frame.to_numpy()
    return _checked(frame, numbers) if numbers.dtype.kind == "O" else numbers


def _checked(frame: Any, numbers: NDArray) -> NDArray:
    """The entries of a data frame of mixed columns. A text that is not a number is an error."""
    for name, column in zip(frame.columns, numbers.T, strict=True):
        try:
            column.astype(np.float64)
        except ValueError as why:
            raise ValueError(
                f"column {name!r} of the data frame: {why}. Use set_index if it holds names, or leave it out"
            ) from None
    return numbers


def numbered(count: int, what: str = "part") -> NDArray:
    """The names of parts that have no others, as in the files of the program."""
    return np.array([f"{what}{k}" for k in range(1, count + 1)])


@contextmanager
def located(rows: Labels, columns: Labels) -> Iterator[None]:
    """Adds the labels of the row and column to an error about an entry of V."""
    try:
        yield
    except ValueError as error:
        at = re.match(r"V\[(\d+), (\d+)\] ", str(error))
        sides = zip(("row", "column"), (rows, columns), at.groups() if at else (), strict=False)
        places = [f"{side} {str(names[int(k)])!r}" for side, names, k in sides if names is not None]
        if not places:
            raise
        raise ValueError(f"{error}; it is in {', '.join(places)}") from None


class Named:
    """A result V ≈ W·H with labels."""

    W: Any
    H: Any
    features: Labels
    samples: Labels
    parts: Labels

    def to_frames(self) -> tuple[Any, Any]:
        """W (features × parts) and H (parts × samples) as pandas data frames with the labels.

        Parts without labels are called part1, part2 and so on.

        Returns
        -------
        W : pandas.DataFrame
        H : pandas.DataFrame
        """
        parts = numbered(len(self.H)) if self.parts is None else self.parts
        return frame(self.W, self.features, parts), frame(self.H, parts, self.samples)


def frame(A: NDArray, rows: Labels, columns: Labels) -> Any:
    """A data frame."""
    try:
        import pandas
    except ImportError:
        raise ImportError("to_frames needs pandas: pip install pandas") from None
    return pandas.DataFrame(A, index=rows, columns=columns)
