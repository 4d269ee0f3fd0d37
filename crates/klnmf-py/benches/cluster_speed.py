"""Times klnmf.dask against one process, and counts what moves.

    python cluster_speed.py --cells 40000 --rank 50

One process with two threads against LocalCluster with one and two workers of one thread, on generated counts.
Every line has the seconds of an iteration without the time to load V, which is found from two runs of
different length.
"""

import argparse
import os
import tempfile
import time

import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster

import klnmf
import klnmf.dask as on_dask


def counts(genes, cells, share, seed=0):
    """Sparse counts of some structure."""
    rng = np.random.default_rng(seed)
    per_cell = rng.poisson(share * genes, cells).clip(1, genes)
    popular = rng.gamma(0.5, size=genes)
    popular /= popular.sum()
    rows = rng.choice(genes, per_cell.sum(), p=popular)
    columns = np.repeat(np.arange(cells), per_cell)
    V = sp.coo_array((np.ones(len(rows)), (rows, columns)), shape=(genes, cells)).tocsc()
    V.sum_duplicates()
    return V


def seconds_each(fit, few, many):
    """Seconds of one iteration, and the digest of the longer run."""
    times = []
    for iterations in (few, many):
        begun = time.perf_counter()
        found = fit(iterations)
        times.append(time.perf_counter() - begun)
    return (times[1] - times[0]) / (many - few), found.H.tobytes()


def moved(client):
    """Tasks so far, and bytes that workers have fetched from each other."""
    bytes_of = client.run(lambda dask_worker: sum(x["total"] for x in dask_worker.transfer_incoming_log))
    return sum(bytes_of.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--genes", type=int, default=5000)
    parser.add_argument("--cells", type=int, default=40000)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--rank", type=int, default=50)
    parser.add_argument("--few", type=int, default=4)
    parser.add_argument("--many", type=int, default=14)
    parser.add_argument("--workers", type=int, nargs="*", default=[2])
    parser.add_argument("--solver", default="mue")
    options = parser.parse_args()
    V = counts(options.genes, options.cells, options.share)
    settings = {"tol": 0.0, "solver": options.solver}
    print(f"V {V.shape}, {V.nnz} entries, rank {options.rank}, {options.solver}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "v.npz")
        sp.save_npz(path, V)
        for threads in (1, 2):
            each, alone = seconds_each(
                lambda n, threads=threads: klnmf.factorize(
                    V, options.rank, max_iter=n, threads=threads, **settings
                ),
                options.few,
                options.many,
            )
            print(f"one process, {threads} threads: {each:.3f} s an iteration", flush=True)
        for workers in options.workers:
            quiet = {"dashboard_address": None, "silence_logs": "CRITICAL"}
            with (
                LocalCluster(n_workers=workers, threads_per_worker=1, **quiet) as cluster,
                Client(cluster) as client,
            ):
                before = moved(client)
                each, found = seconds_each(
                    lambda n, client=client: on_dask.factorize(
                        path, options.rank, max_iter=n, client=client, every=1e9, **settings
                    ),
                    options.few,
                    options.many,
                )
                size = (moved(client) - before) / 1e6
                same = "the same bytes" if found == alone else "OTHER BYTES"
                print(
                    f"{workers} workers: {each:.3f} s an iteration, {size:.0f} MB moved in both runs, {same}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
