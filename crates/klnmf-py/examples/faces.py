"""Images: find their parts.

The digits of scikit-learn stand in for faces; `fetch_olivetti_faces().data` works the same way.
Run it as a script, or cell by cell.
"""

# %% Images are rows.
from pathlib import Path
from tempfile import mkdtemp

import klnmf
from sklearn.datasets import load_digits

folder = Path(mkdtemp(prefix="klnmf-"))
images = load_digits().data
print(f"{images.shape[0]} images of {images.shape[1]} pixels")

# %% Sixteen parts, with the single-factor gaps of the fit.
model = klnmf.KLNMF(n_components=16, random_state=0).fit(images)
print(f"divergence {model.divergence_:.1f}, relative gap {model.gap_:.1e}, {model.n_iter_} iterations")

# %% Plot the parts and the convergence.
klnmf.plot.images(model, (8, 8)).savefig(folder / "parts.png")
klnmf.plot.convergence(model).savefig(folder / "convergence.png")

# %% New images: the best weights for these parts, each with an optimality gap.
found = model.decompose(images[:5])
print("gaps of five images:", found.gaps.round(8))
print("pictures in", folder)
