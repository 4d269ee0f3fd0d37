"""The cases that Dask and MPI must solve to the bytes of one process."""

import hashlib

import numpy as np
import scipy.sparse as sp

import klnmf

SOLVERS = ["auto", "mu", "mue", "newton", "fpa", "simplex"]


def matrix(sparse=False, dtype="float64", seed=0):
    """Counts with structure, so that solvers have something to decide."""
    rng = np.random.default_rng(seed)
    W, H = rng.gamma(0.3, size=(150, 4)), rng.gamma(0.3, size=(4, 333))
    V = rng.poisson(6 * W @ H).astype(dtype)
    return sp.csr_array(V) if sparse else V


def cases():
    """Name, V and settings."""
    for solver in SOLVERS:
        for sparse in (False, True):
            for dtype in ("float32", "float64") if sparse else ("float64", "float32"):
                # Mixed precision changes to f64 after 20 iterations here.
                long = solver == "auto" or (solver == "fpa" and not sparse)
                settings = {"solver": solver, "max_iter": 25 if long else 12, "tol": 0.0}
                settings["mixed"] = True if long else None
                yield f"{solver} {sparse} {dtype}", matrix(sparse, dtype), settings


def digest(found):
    """A hash of everything that must be the same."""
    numbers = np.array([found.divergence, found.gap_w, found.gap_h, found.iterations])
    text = f"{found.status} {found.info.precision} {found.metadata['data_hash']}"
    whole = b"".join(np.asarray(part, order="C").tobytes() for part in (found.W, found.H, numbers))
    return hashlib.sha256(whole + text.encode()).hexdigest()


def expected():
    """The digest of every case in one process."""
    return {name: digest(klnmf.factorize(V, 4, **settings)) for name, V, settings in cases()}
