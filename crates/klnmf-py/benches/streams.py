"""The divergence of streaming methods after some readings of V, as in docs/large.md.

    KLNMF_DATA=FOLDER python streams.py newsgroups-10 newsgroups-50 cells documents --json streams.jsonl

Every method begins at random once, and gives W after 1, 2, 5 and 10 readings of one copy of V. The best H
for that W gives the divergence. An iteration of `auto` reads two copies, so it makes 1, 3 and 5 iterations
after 2, 5 and 10 readings, nearly. scikit-learn and gensim get batches of a hundredth of the columns. Needs
both; one that is missing is left out.
"""

import argparse
import json
import os
import time

import numpy as np
import scipy.sparse as sp

import klnmf

READINGS = [1, 2, 5, 10]
# The most readings of methods that take long, by name of the data.
MOST = {"newsgroups-50": 0, "cells": 2, "documents": 0}


def generated(features, samples, parts, entries):
    """Counts that mix some parts, with Poisson noise; about so many entries."""
    rng = np.random.default_rng(0)
    W = rng.gamma(0.1, size=(features, parts)) * rng.gamma(0.5, size=(features, 1))
    H = rng.gamma(0.3, size=(parts, samples))
    W, scale = W / W.sum(axis=0), 1.4 * entries / H.sum()
    columns = [sp.csc_array(rng.poisson(W @ (scale * part))) for part in np.array_split(H, 100, axis=1)]
    return sp.hstack(columns, format="csc").astype(np.float64)


def data(name):
    """V with features as rows, and the rank."""
    if name.startswith("newsgroups"):
        V = sp.load_npz(os.path.join(os.environ["KLNMF_DATA"], "text", "newsgroups.npz"))
        # Documents are the samples.
        return sp.csc_array(V.T if V.shape[0] < V.shape[1] else V, dtype=np.float64), int(name[11:])
    sizes = {"cells": (3760, 16791, 10, 2.5e6), "documents": (20000, 60000, 40, 4e6)}
    features, samples, rank, entries = sizes[name]
    return generated(features, samples, rank, entries), rank


def stream(V, rank, readings):
    return klnmf.factorize(V, rank, solver="stream", tol=0, max_iter=readings).W


def auto(V, rank, readings):
    return None if readings < 2 else klnmf.factorize(V, rank, tol=0, max_iter=(readings + 1) // 2).W


def scikit_learn(V, rank, readings):
    from sklearn.decomposition import MiniBatchNMF

    model = MiniBatchNMF(
        rank,
        init="random",
        batch_size=-(-V.shape[1] // 100),
        beta_loss="kullback-leibler",
        tol=0,
        max_no_improvement=None,
        max_iter=readings,
        random_state=0,
    )
    return model.fit(V.T.tocsr()).components_.T


def gensim(V, rank, readings):
    from gensim.matutils import Sparse2Corpus
    from gensim.models.nmf import Nmf

    corpus = Sparse2Corpus(V)
    size = -(-V.shape[1] // 100)
    # Without names the last words would be missing if they do not occur.
    words = {i: str(i) for i in range(V.shape[0])}
    model = Nmf(corpus, rank, id2word=words, chunksize=size, passes=readings, eval_every=None, random_state=0)
    return model.get_topics().T


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+", choices=["newsgroups-10", "newsgroups-50", "cells", "documents"])
    parser.add_argument("--json", help="file to which a line is added for every result")
    options = parser.parse_args()
    for name in options.data:
        V, rank = data(name)
        print(f"{name}: {V.shape[0]} × {V.shape[1]}, {V.nnz} entries, rank {rank}", flush=True)
        for method in (stream, auto, scikit_learn, gensim):
            for readings in READINGS:
                if method in (scikit_learn, gensim) and readings > MOST.get(name, 10):
                    continue
                begun = time.process_time()
                try:
                    W = method(V, rank, readings)
                except ImportError as why:
                    print(why)
                    break
                if W is None:
                    continue
                spent = time.process_time() - begun
                # A row that W leaves out would make the divergence infinite.
                W = np.maximum(np.asarray(W, np.float64), 1e-12 * W.max())
                found = klnmf.decompose(V, W, tol=1e-4).divergences.sum()
                row = {"data": name, "method": method.__name__, "readings": readings, "divergence": found}
                print(f"  {method.__name__} {readings}: {found:.5g}, {spent:.1f} s of processor", flush=True)
                if options.json:
                    with open(options.json, "a") as file:
                        print(json.dumps(row), file=file)


if __name__ == "__main__":
    main()
