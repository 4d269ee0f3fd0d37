"""The fits of a comparison as tasks of a Dask cluster.

The native module names the fits that are missing. Each becomes a task, which returns the file of its fit. The
client puts it into the folder and asks again, until nothing is missing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from distributed import as_completed

from klnmf import _klnmf
from klnmf._dask import Client, LargeGraphs, common_level, same
from klnmf._data import matrix


def on_cluster(client: Client, V: Any, how: tuple, compare: Callable[[tuple], Any]) -> Any:
    """What `compare` finds with fits of V that the workers make."""
    *limits, threads, folder = how
    level = common_level(client)
    with LargeGraphs():
        held = client.submit(same, V, pure=False)
    with ExitStack() as stack:
        place = stack.enter_context(TemporaryDirectory()) if folder is None else folder
        while True:
            try:
                return compare((*limits, threads, place, True))
            except _klnmf.MissingFits as error:
                (missing,) = error.args
            # The first ones are the longest.
            tasks = [
                client.submit(_made, held, name, (*limits, threads or 1), level, priority=-at, pure=False)
                for at, name in enumerate(missing)
            ]
            for _, (name, content) in as_completed(tasks, with_results=True):
                _put(Path(place, "fits"), name, content)


def _made(held: Any, name: str, settings: tuple, level: str) -> tuple[str, bytes]:
    """The name and the file of a fit. The result depends on the arguments only."""
    _klnmf.set_instruction_level(level)
    with TemporaryDirectory() as folder:
        # What comes from another process may be misaligned.
        _klnmf.make_fit(matrix(held), name, (*settings, folder, False))
        return name, Path(folder, "fits", f"{name}.npz").read_bytes()


def _put(folder: Path, name: str, content: bytes) -> None:
    """Writes the file completely or not at all."""
    unfinished = folder / f".{name}.unfinished"
    unfinished.write_bytes(content)
    os.replace(unfinished, folder / f"{name}.npz")
