"""Checkpoints: a run that is stopped goes on to the same bits, in Python and in the program."""

import os
import subprocess
import sys
import time

import klnmf
import numpy as np
import pytest
import scipy.sparse as sp
from test_files import program, run

SOLVERS = [name for name, _ in klnmf._klnmf.solvers()]


def options(solver):
    return {"solver": solver, "rho": 5.0 if solver.startswith("admm") else None, "tol": 0, "max_iter": 60}


def stop_at(iteration):
    return lambda info: info.iteration >= iteration


def same(a, b):
    return np.array_equal(a.W, b.W) and np.array_equal(a.H, b.H) and a.info[2:] == b.info[2:]


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_goes_on_to_the_same_bits(solver, counts, tmp_path):
    kinds = [("dense64", counts), ("dense32", counts.astype("f4")), ("sparse", sp.csr_matrix(counts))]
    for at, (kind, V) in zip((5, 20, 40), kinds, strict=True):
        try:
            whole = klnmf.factorize(V, 4, seed=3, **options(solver))
        except ValueError as why:
            assert kind == "sparse" and "works on dense matrices only" in str(why)
            continue
        path = tmp_path / f"{kind}.npz"
        part = klnmf.factorize(V, 4, seed=3, **options(solver), checkpoint=path, check_every=1, callback=stop_at(at))
        assert part.status == "stopped" and part.info.iteration < 60
        assert same(klnmf.factorize(V, resume=path, **options(solver)), whole), (solver, kind)
        # The file of `resume` was updated: nothing is left to do.
        again = klnmf.factorize(V, resume=path, **options(solver))
        assert same(again, whole) and len(again.trace) <= 1


def test_the_names_of_parts_go_on(counts, tmp_path):
    W, H = klnmf.factorize(counts, 2, max_iter=5).to_frames()
    init, path = (W.set_axis(["wind", "rain"], axis=1), H), tmp_path / "c.npz"
    for settings in ({"init": init, "checkpoint": path, "max_iter": 3}, {"resume": path, "max_iter": 6}):
        model = klnmf.factorize(counts, **settings, tol=0)
        assert model.parts.tolist() == ["wind", "rain"]
        assert model.to_frames()[1].index.tolist() == ["wind", "rain"]


def test_a_killed_process_goes_on(counts, tmp_path):
    np.save(tmp_path / "v.npy", counts)
    code = (
        "import klnmf, numpy as np; klnmf.factorize(np.load('v.npy'), 4, tol=0, max_iter=10**9, "
        "checkpoint='c.npz', every=0)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path)
    while not (tmp_path / "c.npz").exists():
        time.sleep(0.02)
    time.sleep(0.3)
    process.kill()
    process.wait()
    part = klnmf.factorize(counts, resume=tmp_path / "c.npz", tol=0, max_iter=10**9, callback=lambda info: True)
    more = part.iterations + 30
    on = klnmf.factorize(counts, resume=tmp_path / "c.npz", tol=0, max_iter=more)
    assert same(on, klnmf.factorize(counts, 4, tol=0, max_iter=more))


def test_given_parts_keep_their_order(counts, tmp_path):
    start = klnmf.init(counts, 4, seed=5)
    whole = klnmf.factorize(counts, init=start, tol=0, max_iter=60)
    path = tmp_path / "c.npz"
    klnmf.factorize(counts, init=start, tol=0, max_iter=20, checkpoint=path)
    assert same(klnmf.factorize(counts, resume=path, tol=0, max_iter=60), whole)


def test_differences_are_named(counts, tmp_path):
    path = tmp_path / "c.npz"
    klnmf.factorize(counts, 3, solver="admm", rho=2.0, max_iter=10, checkpoint=path)
    other = counts.copy()
    other[0, 0] += 1
    for V, more, words in [
        (other, {}, "c.npz: the numbers of V"),
        (counts.astype("f4"), {}, "precision"),
        (counts[:-1], {}, "its V is 60 × 90, and this one is 59 × 90"),
        (counts, {"solver": "auto", "rho": None}, "solver admm, not auto"),
        (counts, {"rho": 3.0}, "another rho"),
        (counts, {"rank": 4}, "its rank is 3, not 4"),
    ]:
        with pytest.raises(ValueError, match=words):
            klnmf.factorize(V, resume=path, **{"solver": "admm", "rho": 2.0, **more})
    with pytest.raises(FileExistsError, match="c.npz exists: continue from it with resume"):
        klnmf.factorize(counts, 3, checkpoint=path)
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        klnmf.factorize(counts, 3, checkpoint=tmp_path / "nowhere" / "c.npz")
    with pytest.raises(FileNotFoundError, match="gone.npz"):
        klnmf.factorize(counts, resume=tmp_path / "gone.npz")
    with pytest.raises(ValueError, match="checkpoint is a .npz file"):
        klnmf.factorize(counts, 3, checkpoint=tmp_path / "c.txt")
    with pytest.raises(ValueError, match="every"):
        klnmf.factorize(counts, 3, checkpoint=tmp_path / "d.npz", every=-1)


def test_a_checkpoint_that_cannot_be_written_is_told(counts, tmp_path):
    path = tmp_path / "folder" / "c.npz"
    path.parent.mkdir()

    def vanish(info):
        if path.exists():
            path.unlink()
            path.parent.rmdir()

    with pytest.warns(RuntimeWarning, match="the run continues: cannot write"):
        model = klnmf.factorize(counts, 3, tol=0, max_iter=30, checkpoint=path, every=0, callback=vanish)
    assert model.iterations == 30 and os.listdir(tmp_path) == []


@program
def test_the_program_continues_what_python_began(counts, tmp_path):
    np.save(tmp_path / "v.npy", counts)
    whole = klnmf.factorize(counts, 4, tol=0, max_iter=60)
    klnmf.factorize(counts, 4, tol=0, max_iter=20, checkpoint=tmp_path / "c.npz")
    run("factorize", "v.npy", "--tol", "0", "--max-iter", "60", "--resume", "c.npz", "--out", "m.npz", cwd=tmp_path)
    assert same(klnmf.load(tmp_path / "m.npz"), whole)
    line = ["factorize", "v.npy", "--rank", "4", "--tol", "0", "--max-iter", "20", "--checkpoint", "d.npz"]
    run(*line, "--out", "part.npz", cwd=tmp_path)
    assert same(klnmf.factorize(counts, resume=tmp_path / "d.npz", tol=0, max_iter=60), whole)
