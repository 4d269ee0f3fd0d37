"""Times iterations of the program from disk and in memory, and notes the highest memory.

    python disk_speed.py make cells.h5ad --genes 30000 --cells 2000000 --entries 1e9
    python disk_speed.py convert cells.h5ad --memory 1GiB
    python disk_speed.py time cells.klnmf --rank 10 --solver mu --repeat 3 --iterations 10

`make` writes counts in pieces, with little memory. `time` runs the program from disk and in memory in turn.
The seconds of an iteration leave out certificates and loading. Needs h5py, and the program in PATH or
--program.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time

import h5py
import numpy as np
import scipy.sparse as sp

# Cells that are drawn together.
CELLS = 20_000


def make(options):
    """Counts of some structure in the layout of AnnData: cells × genes, compressed rows."""
    genes, cells = options.genes, options.cells
    rng = np.random.default_rng(0)
    share = rng.gamma(0.5, size=genes)
    # A gene takes about its share of a table of 2²² places, so that drawing one is a look into the table.
    places = np.diff(np.round(np.cumsum([0, *share]) / share.sum() * 2**22)).astype(int)
    table = np.repeat(np.arange(genes, dtype=np.int32), places)
    with h5py.File(options.path, "w") as file:
        group = file.create_group("X")
        group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0"})
        group.attrs["shape"] = np.array([cells, genes])
        data, indices = (
            group.create_dataset(name, (0,), dtype, maxshape=(None,), chunks=(1 << 20,))
            for name, dtype in (("data", np.float32), ("indices", np.int32))
        )
        ends = np.zeros(cells + 1, np.int64)
        for first in range(0, cells, CELLS):
            some = min(CELLS, cells - first)
            drawn = rng.poisson(options.entries / cells, some)
            columns = table[rng.integers(0, len(table), drawn.sum())]
            pointers = np.concatenate([[0], np.cumsum(drawn)])
            V = sp.csr_array((np.ones(len(columns), np.float32), columns, pointers), (some, genes))
            V.sum_duplicates()
            begin = ends[first]
            ends[first + 1 : first + some + 1] = begin + V.indptr[1:]
            for dataset, values in ((data, V.data), (indices, V.indices)):
                dataset.resize((begin + V.nnz,))
                dataset[begin:] = values
        group["indptr"] = ends
    print(f"{genes} × {cells}, {ends[-1]} entries, {os.path.getsize(options.path) / 1e9:.2f} GB")


def run(words):
    """Seconds of wall and processor time, the peak in MiB, and the standard output of a program."""
    begun = time.time()
    with tempfile.TemporaryFile() as out:
        program = subprocess.Popen(words, stdout=out)
        _, status, used = os.wait4(program.pid, 0)
        if status:
            raise SystemExit(f"{words}: {status}")
        out.seek(0)
        told = out.read().decode()
    return time.time() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, told


def convert(options):
    words = [options.program, "convert", options.path, "--memory", options.memory, "--quiet", "--json"]
    wall, cpu, peak, told = run(words)
    found = json.loads(told)
    each = found["bytes"] / found["stored"]
    print(f"{wall:.1f} s, {cpu:.1f} s of processor, {peak:.0f} MiB, {each:.3f} bytes an entry")


def measure(options):
    """From disk and in memory, in turn. All runs of a solver must give the same divergence."""
    seen = set()
    for _ in range(options.repeat):
        for where in options.where:
            with tempfile.TemporaryDirectory() as place:
                words = [options.program, "factorize", options.path, "--rank", str(options.rank)]
                words += ["--solver", options.solver, "--precision", options.precision, "--tol", "0"]
                words += ["--max-iter", str(options.iterations), "--threads", str(options.threads)]
                words += ["--memory", options.memory if where == "disk" else "1TiB", "--quiet", "--json"]
                wall, _, peak, told = run([*words, "--out", os.path.join(place, "model.npz")])
            found = json.loads(told)
            seen.add(found["divergence"])
            each = found["seconds"] / found["iterations"]
            print(f"{options.solver} {options.precision} {where}: {each:.3f} s an iteration,", end=" ")
            print(f"{wall:.1f} s in all, {peak:.0f} MiB, D = {found['divergence']}", flush=True)
    assert len(seen) == 1, "the divergences differ"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verb", choices=["make", "convert", "time"])
    parser.add_argument("path")
    parser.add_argument("--genes", type=int, default=30_000)
    parser.add_argument("--cells", type=int, default=60_000)
    parser.add_argument("--entries", type=float, default=30e6)
    parser.add_argument("--memory", default="1GiB", help="for the conversion, and for runs from disk")
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--solver", default="mu")
    parser.add_argument("--precision", default="f64")
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--where", nargs="*", default=["disk", "memory"], choices=["disk", "memory"])
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--program", default=shutil.which("klnmf") or "klnmf")
    options = parser.parse_args()
    {"make": make, "convert": convert, "time": measure}[options.verb](options)


if __name__ == "__main__":
    main()
