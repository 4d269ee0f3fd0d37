"""scikit-learn's NMF with the Kullback-Leibler divergence from a given start, for longer and longer.

Every run starts afresh and lasts twice as many iterations as the one before, through the public interface alone, until
one has taken the time that is allowed. Time is that of fit_transform; the divergence is scikit-learn's own.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse
from sklearn.decomposition import NMF


def main(folder: Path, seconds: float) -> None:
    w, h = np.load(folder / "w.npy"), np.load(folder / "h.npy")
    if (folder / "v.npy").exists():
        v = np.load(folder / "v.npy")
    else:
        v = scipy.sparse.csr_matrix(scipy.io.mmread(folder / "v.mtx"), dtype=w.dtype)
    w, h = np.ascontiguousarray(w), np.ascontiguousarray(h)
    warnings.filterwarnings("ignore")
    iterations = 1
    while True:
        model = NMF(
            n_components=w.shape[1],
            init="custom",
            solver="mu",
            beta_loss="kullback-leibler",
            tol=0,
            max_iter=iterations,
        )
        begun = time.perf_counter()
        model.fit_transform(v, W=w.copy(), H=h.copy())
        taken = time.perf_counter() - begun
        # reconstruction_err_ is the square root of twice the divergence.
        divergence = float(model.reconstruction_err_) ** 2 / 2
        print(f"scikit-learn,{iterations},{taken},{divergence}", flush=True)
        if taken >= seconds:
            return
        iterations *= 2


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
