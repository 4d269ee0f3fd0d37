"""Images: the parts that they are made of.

The digits that come with scikit-learn stand in for faces; `fetch_olivetti_faces().data` works the same.
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

# %% Sixteen parts, with a certificate.
model = klnmf.KLNMF(n_components=16, random_state=0).fit(images)
print(f"divergence {model.divergence_:.1f}, relative gap {model.gap_:.1e}, {model.n_iter_} accesses")

# %% Look at them, and at how the fit got there.
klnmf.plot.images(model, (8, 8)).savefig(folder / "parts.png")
klnmf.plot.convergence(model).savefig(folder / "convergence.png")

# %% New images: the best weights for these parts, each within a known distance of the optimum.
found = model.decompose(images[:5])
print("gaps of five images:", found.gaps.round(8))
print("pictures in", folder)
