"""Progress bars and callbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


def _bar(total: int, unit: str) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError("progress=True needs tqdm: pip install tqdm") from None
    return tqdm(total=total, unit=unit, leave=False)


@contextmanager
def watching(
    make: Callable[..., Any],
    callback: Callable[[Any], Any] | None,
    progress: bool,
    total: int,
    say: Callable[[Any], str],
) -> Iterator[Callable[..., bool] | None]:
    """The function that receives every report: it calls the callback and moves the bar.

    `make` builds the callback's argument, and `say` the text beside the bar.
    """
    if callback is None and not progress:
        yield None
        return
    bar = _bar(total, "iteration") if progress else None

    def hear(*facts: Any) -> bool:
        info = make(*facts)
        if bar is not None:
            bar.set_postfix_str(say(info), refresh=False)
            bar.update(info.iteration - bar.n)
        return callback is not None and bool(callback(info))

    try:
        yield hear
    finally:
        if bar is not None:
            bar.close()


@contextmanager
def counting(progress: bool, total: int, unit: str) -> Iterator[Callable[[int], None] | None]:
    """The function that receives the number of finished columns."""
    if not progress:
        yield None
        return
    bar = _bar(total, unit)

    def hear(done: int) -> None:
        # Threads may report out of order; the bar never moves back.
        bar.update(max(done - bar.n, 0))

    try:
        yield hear
    finally:
        bar.close()
