"""Kills workers, cuts their network and kills the client while a factorisation runs on a Dask cluster.

The scheduler and every worker have a network namespace of their own on one machine (root on Linux is needed).
The script itself runs in another one, which has no way out, so that no packet can leave the machine:

    unshare --net python cluster_faults.py --kills 30 --cuts 10 --clients 10

Every run must end with the bytes of one process. The script prints one line for every fault and the counts of
the outcomes at the end. It fails if a run failed or had other bytes.
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
from collections import Counter
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from distributed import Client

import klnmf
import klnmf.dask as on_dask

SETTINGS = {"tol": 0.0, "max_iter": 24, "seed": 1, "check_every": 4}
RANK = 5
SCHEDULER = "tcp://10.77.0.1:8786"
# Short patience, so that a cut is noticed in seconds. Dask refuses less than 11 s for TCP.
PATIENCE = {
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "10s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "30",
}


def ip(*arguments, check=True):
    subprocess.run(["ip", *arguments], check=check, stderr=None if check else subprocess.DEVNULL)


class Hosts:
    """Namespaces on one bridge. Host 0 has the scheduler, and this process has the address 254."""

    def __init__(self, workers, logs):
        self.logs, self.processes, self.starts = logs, {}, Counter()
        self.workers = list(range(1, workers + 1))
        self.lock, self.closing = threading.Lock(), threading.Event()
        self.remove()
        ip("link", "set", "lo", "up")
        ip("link", "add", "klbr", "type", "bridge")
        ip("addr", "add", "10.77.0.254/24", "dev", "klbr")
        ip("link", "set", "klbr", "up")
        for host in [0, *self.workers]:
            ip("netns", "add", f"kl{host}")
            ip("link", "add", f"klv{host}", "type", "veth", "peer", "name", "eth0", "netns", f"kl{host}")
            ip("link", "set", f"klv{host}", "master", "klbr", "up")
            ip("-n", f"kl{host}", "addr", "add", f"10.77.0.{host + 1}/24", "dev", "eth0")
            ip("-n", f"kl{host}", "link", "set", "eth0", "up")
            ip("-n", f"kl{host}", "link", "set", "lo", "up")
            self.start(host)
        self.watch = threading.Thread(target=self.revive, daemon=True)
        self.watch.start()

    def start(self, host):
        """Starts the scheduler or a worker in its namespace."""
        role, rest = "scheduler", ["--port", "8786", "--no-dashboard"]
        if host:
            role, rest = "worker", [SCHEDULER, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
        command = ["ip", "netns", "exec", f"kl{host}", sys.executable, "-m", f"distributed.cli.dask_{role}"]
        environment = {**os.environ, **PATIENCE, "OMP_NUM_THREADS": "1"}
        with open(self.logs / f"host{host}.log", "a") as log:
            run = subprocess.Popen([*command, *rest], stdout=log, stderr=log, env=environment)
        self.processes[host] = run
        self.starts[host] += 1

    def revive(self):
        """Starts workers again that were killed or have given up, as a cluster manager does."""
        while not self.closing.wait(0.2):
            with self.lock:
                for host in self.workers:
                    if self.processes[host].poll() is not None:
                        self.start(host)

    def kill(self, host):
        self.processes[host].send_signal(signal.SIGKILL)

    def cut(self, host, seconds):
        """Cuts a worker off for some time."""
        ip("link", "set", f"klv{host}", "down")
        time.sleep(seconds)
        ip("link", "set", f"klv{host}", "up")

    def close(self):
        self.closing.set()
        with self.lock:
            for run in self.processes.values():
                run.kill()
                run.wait()
        self.remove()

    def remove(self):
        """Removes the namespaces, also those of an earlier run that was killed."""
        for host in [0, *self.workers]:
            # Its half of the pair would stay while a socket of the namespace is closing.
            ip("link", "del", f"klv{host}", check=False)
            ip("netns", "del", f"kl{host}", check=False)
        ip("link", "del", "klbr", check=False)


def same(found, alone):
    return all(getattr(found, name).tobytes() == getattr(alone, name).tobytes() for name in ("W", "H"))


def outcome(attempt):
    """How a run ended, in words."""
    try:
        return "the same bytes" if attempt() else "OTHER BYTES"
    except Exception as error:
        return f"FAILED: {error!r}"


class Fault:
    """Something that happens once, a random time after a given iteration."""

    def __init__(self, what, at, delay):
        self.what, self.at, self.delay = what, at, delay
        self.reached, self.over = threading.Event(), threading.Event()
        self.iteration, self.happened = 0, None

    def hear(self, info):
        self.iteration = info.iteration
        if info.iteration >= self.at:
            self.reached.set()

    def wait(self):
        self.reached.wait()
        if not self.over.wait(self.delay):
            self.happened = self.iteration
            self.what()


def with_fault(client, path, alone, fault):
    """One run with a fault."""
    thread = threading.Thread(target=fault.wait, daemon=True)
    thread.start()
    begun = time.time()

    def attempt():
        settings = {"pieces": 3, "every": 5.0, "callback": fault.hear, **SETTINGS}
        return same(on_dask.factorize(path, RANK, client=client, **settings), alone)

    found = outcome(attempt)
    seconds = time.time() - begun
    fault.over.set()
    fault.reached.set()
    thread.join()
    return found, seconds


CLIENT = f"""
import sys
from distributed import Client
import klnmf.dask
path, checkpoint, resume, model = sys.argv[1:]
settings = dict(pieces=3, every=0.3, checkpoint=checkpoint, **{SETTINGS!r})
settings["callback"] = lambda info: print(info.iteration, flush=True)
with Client({SCHEDULER!r}, timeout=60) as client:
    if resume == "resume":
        found = klnmf.dask.factorize(path, client=client, resume=checkpoint, **settings)
    else:
        found = klnmf.dask.factorize(path, {RANK}, client=client, **settings)
found.save(model, overwrite=True)
"""


def kill_client(path, folder, alone, at, delay):
    """Kills a client, and lets another one continue. Returns where the first ended and the second began."""
    checkpoint, model = folder / "state.npz", folder / "model.npz"
    checkpoint.unlink(missing_ok=True)
    model.unlink(missing_ok=True)

    def client(resume):
        command = [sys.executable, "-c", CLIENT, path, checkpoint, resume, model]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    first, last = client("start"), None
    for line in first.stdout:
        last = int(line)
        if last >= at:
            break
    time.sleep(delay)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    killed = first.returncode == -signal.SIGKILL
    second = client("resume" if checkpoint.exists() else "start")
    heard = second.communicate()[0].split()
    found = outcome(lambda: second.returncode == 0 and same(klnmf.load(model), alone))
    return found, killed, last, int(heard[0]) if heard else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("kills", 30), ("cuts", 10), ("clients", 10), ("workers", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=float, default=15.0, help="how long a cut lasts")
    parser.add_argument("--logs", type=Path, help="folder for what scheduler and workers write")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if subprocess.run(["ip", "route"], check=True, stdout=subprocess.PIPE).stdout:
        parser.error("this network has routes to others: start the script with unshare --net")
    # So that the namespaces are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    rng, ends = random.Random(options.seed), Counter()
    V = sp.csr_array(np.random.default_rng(0).poisson(0.2, (400, 1200)).astype(float))
    alone = klnmf.factorize(V, RANK, **SETTINGS)

    def report(kind, found, text):
        ends[kind, found] += 1
        print(f"{kind} {sum(ends[key] for key in ends if key[0] == kind)}: {text}, {found}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "v.npz")
        sp.save_npz(path, V)
        hosts = Hosts(options.workers, options.logs or Path(folder))
        try:
            with Client(SCHEDULER, timeout=120) as client:
                client.wait_for_workers(options.workers, timeout=120)
                nothing = Fault(lambda: None, 0, 0.0)
                found, usual = with_fault(client, path, alone, nothing)
                report("no fault", found, f"{usual:.1f} s")
                left = ["cut"] * options.cuts + ["kill"] * options.kills
                while left:
                    client.wait_for_workers(options.workers, timeout=120)
                    host, kind = rng.choice(hosts.workers), left[-1]
                    what = {
                        "kill": lambda host=host: hosts.kill(host),
                        "cut": lambda host=host: hosts.cut(host, options.seconds),
                    }
                    fault = Fault(what[kind], rng.randrange(0, 20, 4), rng.uniform(0, 0.8))
                    found, seconds = with_fault(client, path, alone, fault)
                    if fault.happened is None:
                        # The run was over first. That does not count.
                        continue
                    left.pop()
                    report(kind, found, f"worker {host} after iteration {fault.happened}, {seconds:.1f} s")
            for _ in range(options.clients):
                at, delay = rng.randrange(0, 20, 4), rng.uniform(0, 0.8)
                found, killed, last, first = kill_client(path, Path(folder), alone, at, delay)
                text = f"after iteration {last}" + ("" if killed else " (it had ended)")
                report("client", found, f"{text}, continued at {first}")
        finally:
            hosts.close()
            print("workers started:", *(hosts.starts[host] for host in hosts.workers))
            for (kind, found), count in sorted(ends.items()):
                print(f"{kind}: {count} × {found}", flush=True)
    if any(found != "the same bytes" for _, found in ends):
        sys.exit(1)


if __name__ == "__main__":
    main()
