"""Kills workers, cuts their network and kills the client while a factorisation runs on a Dask cluster.

The scheduler and every worker have a network namespace of their own on one machine (root on Linux is needed):

    python cluster_faults.py --kills 30 --cuts 10 --clients 10

Every run must end with the bytes of one process. The script prints one line for every fault.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from distributed import Client

import klnmf
import klnmf.dask as on_dask

SETTINGS = {"tol": 0.0, "max_iter": 60, "seed": 1}
RANK = 8
# Short patience, so that a cut is noticed in seconds.
PATIENCE = {
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "6s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "4s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "5s",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "30",
    "DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT": "5s",
}


def sh(*command):
    subprocess.run(command, check=True)


class Hosts:
    """Namespaces on one bridge. Host 0 has the scheduler, host 254 is this process."""

    def __init__(self, workers):
        sh("ip", "link", "add", "klbr", "type", "bridge")
        sh("ip", "addr", "add", "10.77.0.254/24", "dev", "klbr")
        sh("ip", "link", "set", "klbr", "up")
        self.processes = {}
        for host in range(workers + 1):
            sh("ip", "netns", "add", f"kl{host}")
            sh(
                "ip",
                "link",
                "add",
                f"klv{host}",
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                f"kl{host}",
            )
            sh("ip", "link", "set", f"klv{host}", "master", "klbr", "up")
            for inside in (
                ["addr", "add", f"10.77.0.{host + 1}/24", "dev", "eth0"],
                ["link", "set", "eth0", "up"],
                ["link", "set", "lo", "up"],
            ):
                sh("ip", "-n", f"kl{host}", *inside)
        self.workers = list(range(1, workers + 1))
        self.start(0)
        for host in self.workers:
            self.start(host)

    def start(self, host):
        """Starts the scheduler or a worker in its namespace."""
        role = ["scheduler", "--port", "8786", "--no-dashboard"]
        if host:
            role = ["worker", "tcp://10.77.0.1:8786", "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        command = [
            "ip",
            "netns",
            "exec",
            f"kl{host}",
            sys.executable,
            "-m",
            "distributed.cli.dask_" + role[0],
        ]
        quiet = subprocess.DEVNULL
        environment = {**os.environ, **PATIENCE, "OMP_NUM_THREADS": "1"}
        run = subprocess.Popen([*command, *role[1:]], stdout=quiet, stderr=quiet, env=environment)
        self.processes[host] = run

    def kill(self, host):
        """Kills a worker and starts another one in its place."""
        self.processes[host].send_signal(signal.SIGKILL)
        self.processes[host].wait()
        self.start(host)

    def cut(self, host, seconds):
        """Cuts a worker off for some time."""
        sh("ip", "link", "set", f"klv{host}", "down")
        time.sleep(seconds)
        sh("ip", "link", "set", f"klv{host}", "up")
        if self.processes[host].poll() is not None:
            self.start(host)

    def alive(self):
        """Starts workers that have given up."""
        for host in self.workers:
            if self.processes[host].poll() is not None:
                self.start(host)

    def close(self):
        for run in self.processes.values():
            run.kill()
            run.wait()
        for host in self.processes:
            subprocess.run(["ip", "netns", "del", f"kl{host}"])
        subprocess.run(["ip", "link", "del", "klbr"])


def same(found, alone):
    return all(getattr(found, name).tobytes() == getattr(alone, name).tobytes() for name in ("W", "H"))


def with_fault(client, path, alone, fault):
    """One run with a fault at a random time in its first half."""
    begun = time.time()
    thread = threading.Thread(target=fault)
    thread.start()
    found = on_dask.factorize(path, RANK, client=client, pieces=4, every=5.0, **SETTINGS)
    thread.join()
    seconds = time.time() - begun
    assert same(found, alone), "the bytes differ"
    return seconds


CLIENT = """
import sys
from distributed import Client
import klnmf.dask
path, checkpoint, resume = sys.argv[1:4]
settings = dict(tol=0.0, max_iter=60, seed=1, pieces=4, every=0.3, checkpoint=checkpoint)
with Client("tcp://10.77.0.1:8786") as client:
    if resume == "resume":
        found = klnmf.dask.factorize(path, client=client, resume=checkpoint, **settings)
    else:
        found = klnmf.dask.factorize(path, 8, client=client, **settings)
found.save(sys.argv[4], overwrite=True)
"""


def kill_client(path, folder, alone, rng):
    """Kills clients until one ends, each continuing where the one before had stopped."""
    checkpoint, model, kills = folder / "state.npz", folder / "model.npz", 0
    checkpoint.unlink(missing_ok=True)
    while True:
        resume = "resume" if checkpoint.exists() else "start"
        run = subprocess.Popen([sys.executable, "-c", CLIENT, path, checkpoint, resume, model])
        try:
            run.wait(timeout=rng.uniform(2.5, 6.0) if kills == 0 else None)
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGKILL)
            run.wait()
            kills += 1
            continue
        assert run.returncode == 0
        assert same(klnmf.load(model), alone), "the bytes differ"
        return kills


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("kills", 30), ("cuts", 10), ("clients", 10)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    rng = random.Random(0)
    numbers = np.random.default_rng(0)
    V = sp.csr_array(numbers.poisson(0.2, (2000, 6000)).astype(float))
    alone = klnmf.factorize(V, RANK, **SETTINGS)
    hosts = Hosts(3)
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "v.npz")
            sp.save_npz(path, V)
            with Client("tcp://10.77.0.1:8786", timeout=60) as client:
                client.wait_for_workers(3, timeout=60)
                usual = with_fault(client, path, alone, lambda: None)
                print(f"no fault: {usual:.1f} s, the same bytes", flush=True)
                for n in range(options.kills + options.cuts):
                    hosts.alive()
                    client.wait_for_workers(3, timeout=120)
                    host, at = rng.choice(hosts.workers), rng.uniform(0.1, 0.6) * usual

                    def fault(cut=n >= options.kills, host=host, at=at):
                        time.sleep(at)
                        hosts.cut(host, 12) if cut else hosts.kill(host)

                    seconds = with_fault(client, path, alone, fault)
                    what = "cut off" if n >= options.kills else "killed"
                    print(
                        f"{n}: worker {host} {what} after {at:.1f} s: {seconds:.1f} s, the same bytes",
                        flush=True,
                    )
            for n in range(options.clients):
                kills = kill_client(path, Path(folder), alone, rng)
                print(f"client {n}: killed {kills} times, resumed, the same bytes", flush=True)
    finally:
        hosts.close()


if __name__ == "__main__":
    main()
