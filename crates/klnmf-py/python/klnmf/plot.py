"""Pictures of models (needs matplotlib). Every function draws and returns a matplotlib `Figure`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from klnmf._labels import numbered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["bars", "convergence", "images", "ranks", "structure", "words"]


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError:
        raise ImportError("klnmf.plot needs matplotlib: pip install matplotlib") from None
    return pyplot


def _rows(components: Any) -> np.ndarray:
    """Components × features, from an estimator, a result or an array."""
    for name, turn in (("components_", False), ("topics", False), ("W", True)):
        if hasattr(components, name):
            found = np.asarray(getattr(components, name))
            return found.T if turn else found
    return np.atleast_2d(np.asarray(components))


def _labels(model: Any, *names: str) -> Any:
    """The first labels that a model has under these names."""
    return next((found for name in names if (found := getattr(model, name, None)) is not None), None)


def _titles(components: Any, count: int) -> list[str]:
    """The names of the parts."""
    parts = _labels(components, "parts")
    what = "topic" if hasattr(components, "topics") else "part"
    return [str(part) for part in (numbered(count, what) if parts is None else parts)]


def _grid(count: int, columns: int | None, size: tuple[float, float]) -> tuple[Any, np.ndarray]:
    """A figure with `count` axes in a grid; surplus axes are hidden."""
    columns = columns or int(np.ceil(np.sqrt(count)))
    lines = -(-count // columns)
    figure, axes = _pyplot().subplots(
        lines,
        columns,
        figsize=(size[0] * columns, size[1] * lines),
        squeeze=False,
        layout="constrained",
    )
    axes = axes.ravel()
    for ax in axes[count:]:
        ax.set_visible(False)
    return figure, axes[:count]


def _trace(model: Any) -> np.ndarray:
    """The trace of a fit. A model from a file has none, or a last record without a time."""
    trace = getattr(model, "trace_", None)
    trace = model.trace if trace is None else trace
    if np.isnan(trace["seconds"]).all():
        raise ValueError("the model has no trace, because files do not store it: plot the fit itself")
    return trace


def convergence(*models: Any, labels: Sequence[str] | None = None, x: str = "iteration") -> Figure:
    """Plot the divergence and the single-factor gaps over the iterations; for topic models, the objective.

    Parameters
    ----------
    *models : Result, Topics or fitted estimator
        Models with a trace.
    labels : sequence of str, optional
        Labels, one for each model.
    x : {'iteration', 'seconds'}
        The quantity on the x axis.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> V = np.random.default_rng(0).poisson(2.0, (20, 30))
    >>> figure = klnmf.plot.convergence(klnmf.factorize(V, 3))
    >>> len(figure.axes)
    2
    """
    traces = [_trace(model) for model in models]
    figure, (left, right) = _pyplot().subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for i, trace in enumerate(traces):
        colour, label = f"C{i}", labels[i] if labels else None
        if "objective" in trace.dtype.names:
            left.plot(trace[x], trace["objective"], color=colour, label=label)
            continue
        left.plot(trace[x], trace["divergence"], color=colour, label=label)
        right.semilogy(trace[x], trace["gap_w"] / trace["divergence"], color=colour, label=label)
        right.semilogy(trace[x], trace["gap_h"] / trace["divergence"], "--", color=colour)
    left.set(xlabel=x, ylabel="D(V‖WH)", yscale="log", title="divergence")
    right.set(xlabel=x, ylabel="gap / D", title="gaps: W solid, H dashed")
    if labels:
        left.legend()
    return figure


def ranks(found: Any) -> Figure:
    """Plot the held-out divergence and the stability of the parts over the ranks.

    Parameters
    ----------
    found : Ranks
        The result of `klnmf.rank`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> V = np.random.default_rng(0).poisson(2.0, (10, 20))
    >>> figure = klnmf.plot.ranks(klnmf.rank(V, [1, 2, 3], replicates=2))
    >>> len(figure.axes)
    2
    """
    table = found.table
    figure, (left, right) = _pyplot().subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    for name, label in (("held_out", "Poisson"), ("held_out_over_dispersed", "over-dispersed")):
        if not np.isnan(table[name]).all():
            above = table[name] - np.nanmin(table[name])
            left.errorbar(table["rank"], above, table[f"{name}_error"], marker="o", label=label)
            left.legend()
    for name in ("cosine", "silhouette"):
        (line,) = right.plot(table["rank"], table[f"{name}_mean"], marker="o", label=f"mean {name}")
        right.plot(table["rank"], table[f"{name}_least"], "--", color=line.get_color(), label=f"least {name}")
    for axes in (left, right):
        for end in found.range or ():
            axes.axvline(end, color="0.6", linestyle=":")
    left.set(xlabel="parts", ylabel="divergence above the best", title="held-out counts", yscale="symlog")
    right.set(xlabel="parts", title="stability")
    for axes in (left, right):
        axes.xaxis.get_major_locator().set_params(integer=True)
    right.legend()
    return figure


def images(
    components: Any, shape: tuple[int, int], *, columns: int | None = None, cmap: str = "gray_r"
) -> Figure:
    """Plot components as images.

    Parameters
    ----------
    components : estimator, Result or array of shape (n_components, pixels)
        Components to draw.
    shape : pair of int
        Height and width of an image.
    columns : int, optional
        Number of images side by side.
    cmap : str
        Name of a colour map.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> figure = klnmf.plot.images(np.eye(4), (2, 2))
    >>> len(figure.axes)
    4
    """
    rows = _rows(components)
    figure, axes = _grid(len(rows), columns, (1.2, 1.2))
    for ax, row in zip(axes, rows, strict=True):
        ax.imshow(row.reshape(shape), cmap=cmap, vmin=0)
        ax.set_axis_off()
    return figure


def bars(
    components: Any, names: Sequence[str] | None = None, *, columns: int = 1, colours: Any = None
) -> Figure:
    """Plot components as bars, like mutational signatures.

    Parameters
    ----------
    components : estimator, Result or array of shape (n_components, features)
        Components to draw.
    names : sequence of str, optional
        Names of the features; by default the labels of the model. They are shown if there are at most 40.
    columns : int
        Number of panels side by side.
    colours : optional
        Colours of the features, in any form that matplotlib accepts.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> len(klnmf.plot.bars(np.eye(3), ["a", "b", "c"]).axes)
    3
    """
    rows = _rows(components)
    names = _labels(components, "features", "feature_names_in_") if names is None else names
    figure, axes = _grid(len(rows), columns, (8 / columns, 1.3))
    places = np.arange(rows.shape[1])
    for title, ax, row in zip(_titles(components, len(rows)), axes, rows, strict=True):
        ax.bar(places, row, width=0.8, color=colours)
        ax.set(ylabel=title, xlim=(-0.6, len(places) - 0.4))
        ax.set_xticks(places if names is not None and len(places) <= 40 else [])
        if names is not None and len(places) <= 40:
            ax.set_xticklabels(names, rotation=90)
    return figure


def words(
    components: Any, names: Sequence[str] | None = None, n: int = 10, *, columns: int | None = None
) -> Figure:
    """Plot the largest features of every component as lists of words.

    Parameters
    ----------
    components : estimator, Topics or array of shape (n_components, features)
        Components to draw.
    names : sequence of str, optional
        Names of the features; by default the labels of the model.
    n : int
        Number of features per component.
    columns : int, optional
        Number of lists side by side.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import numpy as np, klnmf
    >>> figure = klnmf.plot.words(np.eye(3), ["a", "b", "c"], n=2)
    >>> figure.axes[0].get_yticklabels()[0].get_text()
    'a'
    """
    rows = _rows(components)
    names = _labels(components, "features", "feature_names_in_") if names is None else names
    names = range(rows.shape[1]) if names is None else names
    titles = _titles(components, len(rows))
    n = min(n, rows.shape[1])
    figure, axes = _grid(len(rows), columns, (2.2, 0.22 * n + 0.6))
    for k, (ax, row) in enumerate(zip(axes, rows, strict=True)):
        top = np.argsort(-row, kind="stable")[:n]
        ax.barh(range(n), row[top], color=f"C{k % 10}")
        ax.set_yticks(range(n), [str(names[i]) for i in top])
        ax.invert_yaxis()
        ax.set_xticks([])
        ax.set_title(titles[k])
    return figure


def structure(weights: Any, groups: ArrayLike | None = None) -> Figure:
    """Plot the shares of the components in every sample as stacked bars (a structure plot).

    Parameters
    ----------
    weights : array-like of shape (n_samples, n_components), Result, Decomposition or Topics
        Weights, from `transform` for example. Every sample is scaled to sum 1. With more than 20 components,
        colours repeat and there is no legend.
    groups : array-like of shape (n_samples,), optional
        Labels of the samples; samples of a group are drawn together.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import klnmf
    >>> figure = klnmf.plot.structure([[1, 0], [1, 1], [0, 2]], groups=["x", "y", "x"])
    >>> [label.get_text() for label in figure.axes[0].get_xticklabels()]
    ['x', 'y']
    """
    model = weights
    weights = weights.H.T if hasattr(weights, "H") else getattr(weights, "weights", weights)
    weights = np.asarray(weights, dtype=float)
    sums = weights.sum(axis=1, keepdims=True)
    shares = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    labels = np.zeros(len(shares), dtype=int) if groups is None else np.asarray(groups)
    # Within a group, samples with the same main component are drawn together, the purest first.
    order = np.lexsort((-shares.max(axis=1), shares.argmax(axis=1), labels))
    shares, labels = shares[order], labels[order]

    figure, ax = _pyplot().subplots(figsize=(9, 2.5), layout="constrained")
    edges, titles = np.arange(len(shares) + 1) - 0.5, _titles(model, shares.shape[1])
    bottom = np.zeros(len(shares))
    colours = [f"C{k}" for k in range(10)] if shares.shape[1] <= 10 else _pyplot().get_cmap("tab20").colors
    for k in range(shares.shape[1]):
        # One shape per component: a bar for each share is slow with many samples.
        top = bottom + shares[:, k]
        colour = colours[k % len(colours)]
        ax.stairs(top, edges, baseline=bottom, fill=True, color=colour, label=titles[k])
        bottom = top
    ax.set(xlim=(-0.5, len(shares) - 0.5), ylim=(0, 1), ylabel="share", xticks=[])
    if shares.shape[1] <= len(colours):
        figure.legend(loc="outside right upper", ncols=1 if shares.shape[1] <= 10 else 2, fontsize="small")
    if groups is not None:
        names, first, count = np.unique(labels, return_index=True, return_counts=True)
        ax.set_xticks(first + (count - 1) / 2, names)
        for edge in first[1:]:
            ax.axvline(edge - 0.5, color="black", linewidth=0.8)
    return figure
