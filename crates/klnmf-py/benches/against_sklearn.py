"""`fit` and `transform` against scikit-learn: same data, same start, time to the same divergence.

scikit-learn runs with its own stopping rule. Then klnmf starts from the same factors and stops as soon as its
divergence is as low. Prints Markdown. Newsgroups are read from the folder that KLNMF_DATA names; without it
they are left out.
"""

import os
import time
import warnings
from pathlib import Path

import klnmf
import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

warnings.simplefilter("ignore", ConvergenceWarning)


def timed(work, times=3):
    """The result, and the least of some times."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        result = work()
        taken.append(time.perf_counter() - begun)
    return result, min(taken)


def divergence(X, components, weights):
    return klnmf.certificate(X.T, components.T, weights.T).divergence


def compare(name, X, rank, times):
    rng = np.random.default_rng(0)
    scale = np.sqrt(X.mean() / rank)
    W = (scale * rng.random((X.shape[0], rank)) + 0.01 * scale).astype(X.dtype)
    H = (scale * rng.random((rank, X.shape[1])) + 0.01 * scale).astype(X.dtype)

    theirs = NMF(rank, init="custom", solver="mu", beta_loss="kullback-leibler", max_iter=1000)
    weights, seconds = timed(lambda: theirs.fit_transform(X, W=W.copy(), H=H.copy()), times)
    goal = divergence(X, theirs.components_, weights)
    reach = klnmf.KLNMF(rank, init="custom", tol=0, callback=lambda info: info.divergence <= goal)
    _, ours = timed(lambda: reach.fit(X, W=W, H=H), times)
    row(f"{name}, fit", theirs.n_iter_, goal, seconds, reach.n_iter_, reach.divergence_, ours)

    # The same components for both. scikit-learn stops by its rule, ours by its optimality gap.
    weights, seconds = timed(lambda: theirs.transform(X), times)
    reach.components_ = theirs.components_
    found, ours = timed(lambda: reach.decompose(X), times)
    goal = divergence(X, theirs.components_, weights)
    row(f"{name}, transform", "", goal, seconds, "", found.divergence, ours)


def row(name, their_iterations, goal, seconds, our_iterations, reached, ours):
    print(
        f"| {name} | {goal:.6g} | {seconds:.3g} | {their_iterations} | {reached:.6g} | {ours:.3g} "
        f"| {our_iterations} | {seconds / ours:.1f} × |",
        flush=True,
    )


def main():
    print(f"klnmf {klnmf.__version__}, {os.cpu_count()} cores, least of the runs\n")
    print("| case | D, scikit-learn | seconds | iterations | D, klnmf | seconds | iterations | times sooner |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    compare("digits 1797 × 64, 10 parts", load_digits().data, 10, 3)
    folder = os.environ.get("KLNMF_DATA")
    if folder:
        X = sp.load_npz(Path(folder) / "text" / "newsgroups.npz").tocsr().astype(np.float64)
        compare(f"newsgroups {X.shape[0]} × {X.shape[1]}, 10 parts", X, 10, 1)


if __name__ == "__main__":
    main()
