"""Times iterations of klnmf.dask and klnmf.mpi against one process, and counts tasks and bytes.

    python cluster_speed.py make counts --genes 20000 --cells 200000 --entries 60e6
    python cluster_speed.py time counts --threads 1 2 --dask 1 2 --mpi 2 --repeat 2 --json times.jsonl
    python cluster_speed.py model times.jsonl

`make` writes counts.npz and counts.klnmf. `time` compares one process with workers of one thread each. Every
line has the seconds of an iteration: the least of all intervals between two callbacks, which come every ten
iterations and include a certificate. Loading V is not included. `model` fits the seconds with Dask.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import klnmf
import klnmf.mpi

# As often as a certificate is computed by default.
STEP, INTERVALS = 10, 2


def counts(genes, cells, entries, seed=0):
    """Sparse counts of some structure, by columns, in f32."""
    rng = np.random.default_rng(seed)
    per_cell = rng.poisson(entries / cells, cells).clip(1, genes)
    popular = np.cumsum(rng.gamma(0.5, size=genes))
    ends = np.concatenate([[0], np.cumsum(per_cell)])
    rows = np.searchsorted(popular, rng.random(ends[-1]) * popular[-1]).astype(np.int32)
    V = sp.csc_array((np.ones(len(rows), np.float32), rows, ends), shape=(genes, cells))
    V.sum_duplicates()
    return V


class Clock:
    """A callback that notes the times, and the processor time of all processes at the first and the last."""

    def __init__(self, settings, used=time.process_time):
        self.times, self.used, self.spent = [], used, []
        self.settings = {"tol": 0.0, "check_every": STEP, "max_iter": STEP * (INTERVALS + 1), **settings}

    def __call__(self, info):
        if info.iteration in (STEP, self.settings["max_iter"]):
            self.spent.append(self.used())
        if info.iteration >= STEP:
            self.times.append(time.time())

    def row(self, kind, processes, found):
        passed = STEP * (len(self.times) - 1)
        return {
            "kind": kind,
            "processes": processes,
            "seconds": float(np.diff(self.times).min()) / STEP,
            "mean": (self.times[-1] - self.times[0]) / passed,
            "cpu": (self.spent[-1] - self.spent[0]) / passed,
            "digest": digest(found),
        }


def digest(found):
    return hashlib.sha256(found.W.tobytes() + found.H.tobytes()).hexdigest()[:16]


def alone(data, rank, settings, threads):
    clock = Clock(settings)
    V = sp.load_npz(f"{data}.npz")
    found = klnmf.factorize(V, rank, threads=threads, callback=clock, **clock.settings)
    return clock.row("threads", threads, found)


def with_dask(data, rank, settings, workers):
    """A run on a new cluster, because those of a row are compared and the machine's speed varies."""
    from distributed import Client, LocalCluster

    import klnmf.dask
    from klnmf._dask import Workers

    tasks, task = [], Workers.task

    def counted(self, *arguments):
        tasks.append(time.time())
        return task(self, *arguments)

    options = {"dashboard_address": None, "silence_logs": "CRITICAL", "memory_limit": 0}
    Workers.task = counted
    try:
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, **options) as cluster,
            Client(cluster) as client,
        ):
            client.get_task_stream(start=0)

            def used():
                # The scheduler is in this process.
                return time.process_time() + sum(client.run(time.process_time).values())

            clock = Clock(settings, used)
            found = klnmf.dask.factorize(
                os.path.abspath(f"{data}.klnmf"),
                rank,
                client=client,
                dtype="float32",
                every=1e9,
                callback=clock,
                **clock.settings,
            )
            begin, end = clock.times[0], clock.times[-1]
            passed = STEP * (len(clock.times) - 1)
            row = clock.row("dask", workers, found)
            row["tasks"] = sum(begin <= at < end for at in tasks) / passed
            busy = {"compute": 0.0, "transfer": 0.0}
            for each in client.get_task_stream(start=begin, stop=end):
                for part in each["startstops"]:
                    if part["action"] in busy:
                        busy[part["action"]] += max(min(part["stop"], end) - max(part["start"], begin), 0)
            row |= {name: seconds / passed / workers for name, seconds in busy.items()}
            logs = client.run(
                lambda dask_worker: [
                    (each["stop"], each["total"]) for each in dask_worker.transfer_incoming_log
                ]
            )
            received = sum(size for log in logs.values() for at, size in log if begin <= at < end)
            return {**row, "MB": received / passed / 1e6}
    finally:
        Workers.task = task


def with_mpi(data, rank, settings, ranks):
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    mpirun = shutil.which("mpirun", path=folders)
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    options = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--bind-to", "none", "-n", str(ranks)]
    rest = ["rank", data, "--rank", str(rank), "--settings", json.dumps(settings)]
    run = [mpirun, *options, sys.executable, __file__, *rest]
    return json.loads(subprocess.run(run, env=environment, check=True, stdout=subprocess.PIPE).stdout)


def one_rank(data, rank, settings):
    """What every process of `with_mpi` does."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    clock = Clock(settings, lambda: comm.allreduce(time.process_time()))
    settings = {"dtype": "float32", "every": 1e9, "callback": clock, **clock.settings}
    found = klnmf.mpi.factorize(f"{data}.klnmf", rank, **settings)
    if comm.rank == 0:
        print(json.dumps(clock.row("mpi", comm.size, found)), flush=True)


def measure(options):
    """Prints a line for every run. The bytes of all runs must be the same."""
    data, rank, settings = options.data, options.rank, {"solver": options.solver}
    with np.load(f"{data}.npz") as V:
        about = {"shape": V["shape"].tolist(), "entries": len(V["data"]), "rank": rank, **settings}
    print(about, flush=True)
    seen = set()

    def note(row):
        seen.add(row["digest"])
        numbers = {name: round(value, 4) for name, value in row.items() if isinstance(value, float)}
        print(row["processes"], row["kind"], numbers, row["digest"], flush=True)
        if options.json:
            with open(options.json, "a") as file:
                print(json.dumps({**about, **row}), file=file)

    for _ in range(options.repeat):
        for threads in options.threads:
            note(alone(data, rank, settings, threads))
        for ranks in options.mpi:
            note(with_mpi(data, rank, settings, ranks))
        for workers in options.dask:
            note(with_dask(data, rank, settings, workers))
    assert len(seen) == 1, "the bytes differ"


def model(options):
    """Fits the seconds of an iteration with Dask: work / min(processes, cores), bytes and tasks."""
    rows = [json.loads(line) for line in Path(options.json).read_text().splitlines()]

    def name(row):
        return tuple(row["shape"]), row["entries"], row["solver"]

    best = {}
    for row in rows:
        key = name(row), row["kind"], row["processes"]
        if key not in best or row["seconds"] < best[key]["seconds"]:
            best[key] = row
    work = {key[0]: row["seconds"] for key, row in best.items() if key[1:] == ("threads", 1)}
    some = [row for key, row in best.items() if key[1] == "dask" and key[0] in work]
    cores = os.cpu_count()
    # Relative errors, so that small problems count as much as large ones.
    weight = np.array([1 / row["seconds"] for row in some])
    terms = np.array(
        [[work[name(x)] / min(x["processes"], cores), x["MB"] / 1e3, x["tasks"] / 1e3] for x in some]
    )
    from scipy.optimize import nnls

    found, _ = nnls(terms * weight[:, None], np.ones(len(some)))
    print(f"{found[0]:.3f} of the work, {found[1]:.3f} s a GB, {found[2]:.3f} ms a task")
    for row, parts in zip(some, terms * found, strict=True):
        said = f"{row['shape']} {row['entries']} {row['solver']} {row['processes']}"
        compute, wire, tasks = parts
        print(
            f"{said}: measured {row['seconds']:.4f}, model {parts.sum():.4f}",
            f"= {compute:.4f} + {wire:.4f} + {tasks:.4f}",
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verb", choices=["make", "time", "rank", "model"])
    parser.add_argument("data", help="path of the data without its ending, or times.jsonl")
    parser.add_argument("--genes", type=int, default=5000)
    parser.add_argument("--cells", type=int, default=40000)
    parser.add_argument("--entries", type=float, default=10e6)
    parser.add_argument("--rank", type=int, default=50)
    parser.add_argument("--solver", default="mue")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--dask", type=int, nargs="*", default=[2])
    parser.add_argument("--mpi", type=int, nargs="*", default=[])
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--json", help="file to which a line is added for every run")
    parser.add_argument("--settings", type=json.loads, default={})
    options = parser.parse_args()
    if options.verb == "make":
        V = counts(options.genes, options.cells, options.entries)
        sp.save_npz(f"{options.data}.npz", V, compressed=False)
        klnmf.mpi.convert(f"{options.data}.npz", f"{options.data}.klnmf", memory=2 << 30)
        print(V.shape, V.nnz)
    elif options.verb == "time":
        measure(options)
    elif options.verb == "rank":
        one_rank(options.data, options.rank, options.settings)
    else:
        options.json = options.data
        model(options)


if __name__ == "__main__":
    main()
