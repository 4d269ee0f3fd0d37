"""Bad weather: arrays that change during the work, and numbers that f32 cannot hold."""

import re
import threading
import time
import warnings

import klnmf
import numpy as np
import pytest
import scipy.sparse as sp

CHANGED = "V was changed during the call, by another thread: give a copy, or wait for the result"


def meanwhile(work, change):
    """Calls `change` in another thread while `work` runs."""

    def later():
        time.sleep(0.05)
        change()

    thread = threading.Thread(target=later)
    thread.start()
    try:
        return work()
    finally:
        thread.join()


def data():
    V = np.random.default_rng(0).poisson(1.0, (200, 300)).astype(float)
    V[0] += 1
    return V


LIMITS = {"tol": 0, "max_iter": 10**9, "time_limit": 0.25}
WORK = {
    "factorize": lambda V: klnmf.factorize(V, 5, **LIMITS),
    "decompose": lambda V: klnmf.decompose(V, np.random.default_rng(1).random((200, 30)), **LIMITS),
    "topics": lambda V: klnmf.topics(V.T, 5, **LIMITS),
}


@pytest.mark.parametrize("value", [np.nan, 7.0])
@pytest.mark.parametrize("storage", [np.ascontiguousarray, np.asfortranarray, sp.csr_matrix, sp.csc_matrix])
@pytest.mark.parametrize("work", WORK)
def test_values_that_change_are_an_error(work, storage, value):
    V = storage(data())
    numbers = V.data if sp.issparse(V) else V

    def change():
        numbers[...] = value

    with pytest.raises(ValueError, match=re.escape(CHANGED)):
        meanwhile(lambda: WORK[work](V), change)


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_indices_that_change_have_no_effect(index):
    V = sp.csr_matrix(data())
    V.indices, V.indptr = V.indices.astype(index), V.indptr.astype(index)
    expected = klnmf.factorize(V.copy(), 5, tol=0, max_iter=100)

    def change():
        V.indices[:] = 2**31 - 1
        V.indptr[:] = -1

    def pause(_):
        time.sleep(0.02)

    found = meanwhile(lambda: klnmf.factorize(V, 5, tol=0, max_iter=100, callback=pause), change)
    assert (V.indices == 2**31 - 1).all()
    np.testing.assert_array_equal(found.W, expected.W)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_positive_numbers_that_become_zero_are_told(storage):
    tiny = np.array([[1e-60, 1.0], [1.0, 1.0], [1e-50, 2.0]])
    V = np.ones((3, 4), np.float32)
    text = "2 positive entries of W are too small for float32 and become 0: multiply W by a constant"
    with pytest.warns(RuntimeWarning, match=text) as caught:
        klnmf.factorize(V, init=(storage(tiny), np.ones((2, 4))), max_iter=1)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        klnmf.factorize(V, init=(storage(np.where(tiny < 1e-40, 0.5, tiny)), np.ones((2, 4))), max_iter=1)
        klnmf.factorize(V.astype(float), init=(tiny, np.ones((2, 4))), max_iter=1)


@pytest.mark.skipif(np.finfo(np.longdouble).maxexp <= 1024, reason="longdouble is f64 here")
def test_data_that_become_zero_are_told():
    V = np.ones((3, 4), np.longdouble)
    V[1, 2] = np.longdouble("1e-4000")
    with pytest.warns(RuntimeWarning, match="1 positive entries of V are too small for float64"):
        klnmf.factorize(V, 1, max_iter=1)
