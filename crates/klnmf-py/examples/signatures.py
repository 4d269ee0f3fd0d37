"""Mutational signatures: extraction, and refitting with the same divergence."""

# %% A catalogue: 96 channels × 80 tumours, from twenty to some ten thousand mutations.
import klnmf
import numpy as np

rng = np.random.default_rng(0)
signatures = rng.dirichlet(np.full(96, 0.1), 4).T
exposures = rng.gamma(0.5, size=(4, 80)) * 10 ** rng.uniform(1, 4, 80)
catalogue = rng.poisson(signatures @ exposures)

# %% Extract. Columns of W sum to 1: signatures; H counts mutations: exposures.
model = klnmf.factorize(catalogue, 4, seed=0)
print(model)
cosine = (model.W / np.linalg.norm(model.W, axis=0)).T @ (signatures / np.linalg.norm(signatures, axis=0))
print("cosines with the truth:", cosine.max(axis=0).round(3))

# %% Refit known signatures. Every tumour has its own bound, in nats.
refit = klnmf.decompose(catalogue, signatures)
print("largest gap:", refit.gaps.max(), "unconverged:", refit.unconverged)

# %% One signature more, without losing the four.
larger = klnmf.factorize(catalogue, init=klnmf.grow(model.W, model.H, 5))
print(f"divergence {model.divergence:.1f} with four, {larger.divergence:.1f} with five")
