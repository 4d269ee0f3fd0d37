"""scikit-learn's topic models on the same words: time to fit, and perplexity of the words kept aside.

Reads train.mtx and held.mtx (words x documents) and prints peer,seconds,perplexity. Default settings but for the number
of topics, the seed and, for LDA, the number of processes.
"""

import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse
from sklearn.decomposition import NMF, LatentDirichletAllocation


def perplexity(held, topics, weights) -> float:
    """exp of minus the mean log-probability; both factors are scaled to distributions here."""
    topics = topics / topics.sum(axis=1, keepdims=True)
    weights = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)
    held = scipy.sparse.coo_matrix(held)
    log = 0.0
    for at in range(0, held.nnz, 100_000):
        part = slice(at, at + 100_000)
        p = np.einsum("ij,ij->i", weights[held.row[part]], topics[:, held.col[part]].T)
        log += float(held.data[part] @ np.log(np.maximum(p, 1e-300)))
    return float(np.exp(-log / held.data.sum()))


def main(folder: Path, k: int) -> None:
    warnings.filterwarnings("ignore")
    train = scipy.sparse.csr_matrix(scipy.io.mmread(folder / "train.mtx").T)
    held = scipy.sparse.csr_matrix(scipy.io.mmread(folder / "held.mtx").T)
    peers = {
        "scikit-learn LDA": LatentDirichletAllocation(k, random_state=0, n_jobs=int(os.environ["OMP_NUM_THREADS"])),
        "scikit-learn NMF(KL)": NMF(k, init="nndsvda", solver="mu", beta_loss="kullback-leibler", random_state=0),
    }
    for name, model in peers.items():
        begun = time.perf_counter()
        weights = model.fit_transform(train)
        seconds = time.perf_counter() - begun
        print(f"{name},{seconds},{perplexity(held, model.components_, weights)}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
