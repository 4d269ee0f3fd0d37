"""Warnings."""

from __future__ import annotations

import sys
import warnings


def warn(text: str, category: type[Warning]) -> None:
    """Warn with the location of the calling line outside klnmf and scikit-learn."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("klnmf", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
