"""Factorisations with MPI: the same bytes as in one process."""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from cluster_cases import expected, matrix

import klnmf
from klnmf.mpi import convert

MPIRUN = shutil.which("mpirun", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
HAS = MPIRUN is not None and find_spec("mpi4py") is not None
pytestmark = pytest.mark.skipif(not HAS, reason="there is no mpi4py or no mpirun")

ALL = """
import json, sys
sys.path.insert(0, sys.argv[1])
from cluster_cases import cases, digest
from mpi4py import MPI
import klnmf.mpi
size = MPI.COMM_WORLD.size
# Half of the cases, because more ranks than cores are slow.
some = list(cases())[size % 2 :: 2]
found = {name: digest(klnmf.mpi.factorize(V, 4, **settings)) for name, V, settings in some}
every = MPI.COMM_WORLD.allgather(found)
if MPI.COMM_WORLD.rank == 0:
    assert all(each == found for each in every)
    print(json.dumps(found))
"""


def mpirun(ranks, *command, check=True):
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    options = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n", str(ranks)]
    run = [MPIRUN, *options, sys.executable, *map(str, command)]
    return subprocess.run(run, env=environment, check=check, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def alone():
    return expected()


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_every_solver_gives_the_bytes_of_one_process(ranks, alone):
    found = mpirun(ranks, "-c", ALL, Path(__file__).parent)
    some = json.loads(found.stdout.splitlines()[-1])
    assert len(some) == len(alone) // 2 and some.items() <= alone.items()


def test_the_command_writes_a_model_and_resumes(tmp_path):
    sp.save_npz(tmp_path / "v.npz", matrix(True))
    convert(tmp_path / "v.npz", tmp_path / "v.klnmf")
    base = ["-m", "klnmf.mpi", "factorize", tmp_path / "v.klnmf", "--tol", "0"]
    mpirun(2, *base, "--rank", 4, "--max-iter", 30, "--out", tmp_path / "model.npz")
    alone, found = klnmf.factorize(matrix(True), 4, tol=0.0, max_iter=30), klnmf.load(tmp_path / "model.npz")
    assert np.array_equal(found.W, alone.W) and np.array_equal(found.H, alone.H)
    state = tmp_path / "run.npz"
    out = ["--checkpoint", state, "--every", 0, "--out"]
    mpirun(2, *base, "--rank", 4, "--max-iter", 16, *out, tmp_path / "part.npz")
    mpirun(3, *base, "--resume", state, "--max-iter", 30, "--out", tmp_path / "rest.npz")
    rest = klnmf.load(tmp_path / "rest.npz")
    assert np.array_equal(rest.W, alone.W) and np.array_equal(rest.H, alone.H)
    failed = mpirun(2, *base, "--rank", 4, "--out", tmp_path / "model.npz", check=False)
    assert failed.returncode != 0 and "model.npz exists" in failed.stderr
