"""Times `klnmf consensus` and cNMF on the same matrix, and compares the parts that they find.

    python against_cnmf.py brca560.npy --klnmf target/release/klnmf [--rank 8] [--replicates 20] [--repeat 3]

Needs cnmf from PyPI. Both get the matrix as cNMF prepares it, each gene divided by its standard deviation,
and as many replicates with the Kullback-Leibler loss. cNMF's fits run in as many processes as klnmf has
threads. Its import and its preparation of the matrix are not timed.
"""

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

THREADS = 2
# Before numpy is loaded, and for all child processes: one thread for each of cNMF's workers.
os.environ.update({name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")})

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import scanpy as sc  # noqa: E402
from cnmf import cNMF  # noqa: E402
from scipy.optimize import linear_sum_assignment  # noqa: E402


def prepared(matrix, folder, rank, replicates):
    """cNMF's own run of these counts, features × samples, up to its fits."""
    counts = pd.DataFrame(matrix.T, [f"s{j}" for j in range(matrix.shape[1])])
    counts.columns = [f"f{i}" for i in range(matrix.shape[0])]
    counts.to_csv(folder / "counts.tsv", sep="\t")
    run = cNMF(output_dir=str(folder), name="run")
    run.prepare(
        counts_fn=str(folder / "counts.tsv"),
        components=[rank],
        n_iter=replicates,
        seed=0,
        beta_loss="kullback-leibler",
        num_highvar_genes=matrix.shape[0],
    )
    return run


def seconds(action):
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def matched(a, b):
    """The cosines of the best pairs, the least first."""
    unit = [parts / np.linalg.norm(parts, axis=0) for parts in (a, b)]
    table = unit[0].T @ unit[1]
    return np.sort(table[linear_sum_assignment(-table)])


def main(given):
    matrix = np.load(given.matrix).astype(float)
    for _ in range(given.repeat):
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            run = prepared(matrix, folder, given.rank, given.replicates)
            scaled = sc.read(run.paths["normalized_counts"])
            X = scaled.X.toarray() if hasattr(scaled.X, "toarray") else np.asarray(scaled.X)
            np.save(folder / "v.npy", np.ascontiguousarray(X.T))
            command = [given.klnmf, "consensus", f"{folder}/v.npy", "--rank", given.rank]
            command += ["--replicates", given.replicates, "--density", given.density]
            command += ["--threads", THREADS, "--quiet", "--out", f"{folder}/ours"]
            command = [str(part) for part in command]
            ours = seconds(lambda: subprocess.run(command, check=True))
            fits = seconds(lambda: run.factorize_multi_process(THREADS))

            def join():
                run.combine()
                run.consensus(k=given.rank, density_threshold=given.density, show_clustering=False)

            joined = seconds(join)
            name = run.paths["consensus_spectra"] % (given.rank, str(given.density).replace(".", "_"))
            spectra = np.load(name, allow_pickle=True)
            spectra = pd.DataFrame(**{k: spectra[k] for k in ("data", "index", "columns")}).to_numpy(float).T
            cosines = matched(np.load(folder / "ours" / "consensus.npz")["W"], spectra)
            print(
                f"klnmf {ours:.2f} s, cNMF {fits:.2f} s for the fits and {joined:.2f} s for the consensus: "
                f"{(fits + joined) / ours:.1f} times; cosines {' '.join(f'{x:.3f}' for x in cosines)}",
                flush=True,
            )


if __name__ == "__main__":
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("matrix", type=Path, help="features × samples, .npy")
    parser.add_argument("--klnmf", default="klnmf", help="the program")
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--density", type=float, default=0.5)
    parser.add_argument("--repeat", type=int, default=3)
    main(parser.parse_args())
