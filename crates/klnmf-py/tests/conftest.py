import numpy as np
import pytest


@pytest.fixture
def counts():
    """60 features × 90 samples from four parts."""
    rng = np.random.default_rng(0)
    W, H = rng.gamma(0.5, size=(60, 4)), rng.gamma(0.5, size=(4, 90))
    return rng.poisson(3 * W @ H).astype(np.float64)
