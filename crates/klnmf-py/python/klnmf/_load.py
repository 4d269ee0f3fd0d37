"""Results from files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from klnmf._core import TRACE
from klnmf._files import read
from klnmf._results import Decomposition, Info, Result, Topics
from klnmf._topics import TRACE as TOPIC_TRACE


def load(path: str | os.PathLike[str]) -> Result | Decomposition | Topics:
    """Load a result that `save` or the program has written.

    Labels are text, as in the file. The trace was not saved: that of a factorisation has its last record,
    that of a topic model none. The file of a separation holds its model, without the stems.

    Parameters
    ----------
    path : str or path
        Name of the file. A file of a later version of klnmf is refused.

    Returns
    -------
    Result, Decomposition or Topics

    Examples
    --------
    >>> import os, tempfile, numpy as np, klnmf
    >>> model = klnmf.factorize(np.ones((3, 4)), 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.npz"))
    ...     again = klnmf.load(os.path.join(folder, "model.npz"))
    >>> bool((again.W == model.W).all()), again.metadata["seed"]
    (True, 0)
    """
    W, H, facts, labels, columns = read(path)
    about = dict(zip(("features", "samples", "parts"), labels, strict=True)) | {"metadata": facts}
    status = facts.get("status", "")
    if "log_likelihood" in columns:
        return Topics(
            topics=W.T,
            weights=H.T,
            gaps=columns["gap"],
            log_likelihood=columns["log_likelihood"],
            words=_number(facts, "sum"),
            unconverged=int(facts.get("unconverged", 0)),
            iterations=int(facts.get("iterations", 0)),
            trace=np.array([], TOPIC_TRACE),
            status=status,
            **about,
        )
    if "gap" in columns:
        return Decomposition(
            H=H,
            divergences=columns["divergence"],
            gaps=columns["gap"],
            iterations=columns["iterations"].astype(np.int64),
            columns_converged=columns["converged"].astype(bool),
            status=status,
            W=W,
            **about,
        )
    info = _info(facts)
    return Result(W, H, info, np.array([info[: len(TRACE)]], TRACE), status, **about)


def _info(facts: dict[str, Any]) -> Info:
    gaps = [_number(facts, name) for name in ("divergence", "gap_w", "gap_h", "sum")]
    precision, update = facts.get("precision", "f64"), facts.get("update", "both")
    return Info(int(facts.get("iterations", 0)), np.nan, *gaps, precision, update)


def _number(facts: dict[str, Any], name: str) -> float:
    """A number; those that are not finite are null in the file."""
    value = facts.get(name)
    return np.nan if value is None else float(value)
