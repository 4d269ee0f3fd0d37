"""scikit-learn's own tests of NMF, run against this package through a small adapter.

Their file is read once more with our classes under scikit-learn's names. Of its parameters those for
multiplicative updates stay; what is about other divergences, regularisation, mini-batches or private
functions is left out, with the reason.
"""

import importlib.util

import klnmf
import klnmf.sklearn
import pytest
import sklearn.decomposition
from sklearn.decomposition import MiniBatchNMF

# Their tests ask for few iterations, and say nothing of warnings.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class NMF(klnmf.KLNMF):
    """KLNMF with the arguments of scikit-learn's NMF. Regularisation is ignored: see `LEFT_OUT`."""

    def __init__(
        self,
        n_components="auto",
        *,
        init=None,
        solver="mu",
        beta_loss="kullback-leibler",
        tol=1e-4,
        max_iter=200,
        random_state=None,
        alpha_W=0.0,
        alpha_H="same",
        l1_ratio=0.0,
    ):
        super().__init__(
            n_components, init=init, solver=solver, tol=tol, max_iter=max_iter, random_state=random_state
        )
        self.beta_loss, self.alpha_W, self.alpha_H, self.l1_ratio = beta_loss, alpha_W, alpha_H, l1_ratio

    def fit_transform(self, X, y=None, W=None, H=None):
        """With their default start, and a tolerance for the divergence: theirs is for its root."""
        given = self.init, self.tol
        few = self.n_components in (None, "auto") or self.n_components <= min(X.shape)
        self.init, self.tol = self.init or ("nndsvd" if few else "random"), self.tol**2
        try:
            return super().fit_transform(X, W=W, H=H)
        finally:
            self.init, self.tol = given

    @property
    def _n_components(self):
        return self.n_components_


LEFT_OUT = {
    "test_convergence_warning": "one iteration solves that matrix here, and the gaps show it",
    "test_initialize_nn_output": "a private function",
    "test_initialize_close": "a private function",
    "test_initialize_variants": "a private function",
    "test_beta_divergence": "a private function",
    "test_special_sparse_dot": "a private function",
    "test_nmf_underflow": "a private function",
    "test_parameter_checking": "a private function; here nndsvd may have more components than samples",
    "test_nmf_multiplicative_update_sparse": "other divergences and regularisation",
    "test_nmf_negative_beta_loss": "other divergences",
    "test_nmf_regularization": "regularisation",
    "test_nmf_decreasing": "other divergences and regularisation",
    "test_non_negative_factorization_consistency": (
        "the function has scikit-learn's start and stopping rule, the class the engine's"
    ),
}


def load():
    """Their tests as a new module that has our names."""
    spec = importlib.util.find_spec("sklearn.decomposition.tests.test_nmf")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sklearn.decomposition, "NMF", NMF)
        patch.setattr(
            sklearn.decomposition,
            "non_negative_factorization",
            klnmf.sklearn.non_negative_factorization,
        )
        spec.loader.exec_module(module)
    return module


def ours(case):
    """Whether a set of parameters is about multiplicative updates without regularisation."""
    values = case if isinstance(case, (list, tuple)) else [case]
    return not any(v is MiniBatchNMF or v in ("cd", {"solver": "cd"}) or v == 1.0 for v in values)


def keep_ours(test):
    test.pytestmark = [
        pytest.mark.parametrize(mark.args[0], list(filter(ours, mark.args[1])), **mark.kwargs).mark
        if mark.name == "parametrize"
        else mark
        for mark in getattr(test, "pytestmark", [])
    ]
    return test


THEIRS = {name: test for name, test in vars(load()).items() if name.startswith("test_")}
globals().update(
    {
        name: keep_ours(test)
        for name, test in THEIRS.items()
        if name not in LEFT_OUT and not any(word in name for word in ("minibatch", "mbnmf"))
    }
)


def test_reasons_are_up_to_date():
    assert set(LEFT_OUT) <= set(THEIRS)
