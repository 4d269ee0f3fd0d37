"""Mutational signatures: extraction, and refitting with the same divergence."""

# %% A catalogue: 96 channels × 80 tumours, with about twenty to ten thousand mutations each.
import klnmf
import numpy as np

rng = np.random.default_rng(0)
signatures = rng.dirichlet(np.full(96, 0.1), 4).T
exposures = rng.gamma(0.5, size=(4, 80)) * 10 ** rng.uniform(1, 4, 80)
catalogue = rng.poisson(signatures @ exposures)

# %% Extract. The columns of W are signatures and sum to 1; H holds exposures in mutations.
model = klnmf.factorize(catalogue, 4, seed=0)
print(model)
cosine = (model.W / np.linalg.norm(model.W, axis=0)).T @ (signatures / np.linalg.norm(signatures, axis=0))
print("cosines with the truth:", cosine.max(axis=0).round(3))

# %% Refit known signatures. Every tumour has an optimality gap, in nats.
refit = klnmf.decompose(catalogue, signatures)
print("largest gap:", refit.gaps.max(), "unconverged:", refit.unconverged)

# %% Add a fifth signature, starting from the four.
larger = klnmf.factorize(catalogue, init=klnmf.grow(model.W, model.H, 5))
print(f"divergence {model.divergence:.1f} with four, {larger.divergence:.1f} with five")
