"""The native module: conversions only. Call the functions of `klnmf` instead."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

_Facts = tuple[int, float, float, float, float, float, str]
_Numbers = tuple[int, float, float, float, float, float]
_TopicFacts = tuple[int, float, float]
_Columns = tuple[
    NDArray, NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.bool_], str, str
]
_Weights = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], int, str, str]
_Names = tuple[list[str] | None, list[str] | None, list[str] | None]

def instruction_level() -> str: ...
def write_model(
    path: str,
    replace: bool,
    w: NDArray,
    h: NDArray,
    metadata: str,
    names: _Names,
    columns: list[tuple[str, list[float]]],
) -> None: ...
def write_file(path: str, replace: bool, content: bytes) -> None: ...
def read_model(path: str) -> tuple[NDArray, NDArray, str, _Names, list[tuple[str, list[float]]]]: ...
def solvers() -> list[tuple[str, str]]: ...
def factorize(
    v: Any,
    start: tuple[int, str, int] | tuple[NDArray, NDArray] | None,
    names: list[str] | None,
    files: tuple[str | None, str | None, float],
    solver: str,
    mixed: bool | None,
    update: str,
    fixed: int,
    inner: int | None,
    max_iter: int,
    tol: float,
    time_limit: float | None,
    check_every: int | None,
    threads: int,
    rho: float | None,
    starts: int,
    callback: Callable[..., bool] | None,
) -> tuple[
    NDArray,
    NDArray,
    _Facts,
    list[_Numbers],
    str,
    list[tuple[int, int, float, bool]],
    str | None,
    str,
    list[str] | None,
]: ...
def init(v: Any, rank: int, how: str, seed: int, threads: int) -> tuple[NDArray, NDArray]: ...
def certificate(v: Any, w: NDArray, h: NDArray, threads: int) -> tuple[float, float, float]: ...
def grow(w: NDArray, h: NDArray, rank: int, seed: int) -> tuple[NDArray, NDArray]: ...
def memory(v: Any, rank: int, threads: int, solver: str) -> tuple[int, int, int, int]: ...
def topics(
    v: Any,
    w: NDArray,
    h: NDArray,
    solver: str,
    topic_prior: float,
    word_prior: float,
    max_iter: int,
    tol: float,
    weights_tol: float,
    time_limit: float | None,
    threads: int,
    callback: Callable[..., bool] | None,
) -> tuple[NDArray[np.float64], _Weights, int, list[_TopicFacts], str]: ...
def topic_weights(
    v: Any,
    topics: NDArray,
    topic_prior: float,
    weights_tol: float,
    time_limit: float | None,
    threads: int,
    progress: Callable[[int], None] | None,
) -> _Weights: ...

class Decomposer:
    def __new__(cls, w: NDArray, threads: int) -> Decomposer: ...
    @property
    def pid(self) -> int: ...
    def decompose(
        self,
        v: Any,
        tol: float,
        max_iter: int,
        time_limit: float | None,
        progress: Callable[[int], None] | None,
    ) -> _Columns: ...

class TopicDecomposer:
    def __new__(cls, topics: NDArray, threads: int) -> TopicDecomposer: ...
    @property
    def pid(self) -> int: ...
    def topic_weights(
        self,
        v: Any,
        weights_tol: float,
        time_limit: float | None,
        progress: Callable[[int], None] | None,
    ) -> _Weights: ...

_State = tuple[int, NDArray[np.float64], NDArray[np.float64]]

class Online:
    def __new__(
        cls, rank: int, state: _State | None, forgetting: float, seed: int, tol: float, threads: int
    ) -> Online: ...
    def state(self) -> _State: ...
    def dictionary(self) -> NDArray[np.float64]: ...
    def push(self, v: Any) -> _Columns: ...

def window_for(rate: int) -> int: ...
def spectrogram(
    signal: NDArray[np.float64], rate: int, window: int, hop: int, threads: int
) -> NDArray[np.float64]: ...
def learn(
    training: Sequence[tuple[str, NDArray[np.float64]]],
    rate: int,
    window: int,
    hop: int,
    per_source: int,
    solver: str,
    tol: float | None,
    max_iter: int | None,
    time_limit: float | None,
    seed: int,
    threads: int,
) -> tuple[NDArray[np.float64], list[int]]: ...
def wiener(
    signal: NDArray[np.float64],
    rate: int,
    window: int,
    hop: int,
    w: NDArray[np.float64],
    h: NDArray[np.float64],
    groups: Sequence[Sequence[int]],
    threads: int,
) -> NDArray[np.float64]: ...

_With = tuple[int, int, float, int, int, str | None, bool]

class MissingFits(Exception): ...

def make_fit(v: Any, name: str, how: _With) -> None: ...

def rank(
    v: Any, ranks: list[int], replicates: int, folds: int, bootstrap: bool, how: _With
) -> tuple[
    tuple[int, int] | None,
    bool,
    bool,
    tuple[int, float, float] | None,
    int | None,
    list[tuple[int, float, float, int, int, list[float]]],
    list[tuple[NDArray, NDArray]],
]: ...
def consensus(
    v: Any,
    rank: int,
    replicates: int,
    bootstrap: bool,
    density: float | None,
    sweeps: int,
    how: _With,
) -> tuple[
    NDArray, NDArray, float, list[float], list[float], list[float], list[list[tuple[int, int]]], int
]: ...
def match_parts(a: NDArray, b: NDArray) -> list[tuple[int, int, float]]: ...
_Positions = tuple[NDArray[np.int64], NDArray[np.int64], tuple[int, int]]
_Arrays = tuple[NDArray, _Positions | None]

class Piece:
    def __new__(cls, v: Any, threads: int) -> Piece: ...
    def facts(self) -> tuple[int, int, list[float], int, float, float, bool]: ...
    def hash(self, rows: int, cols: int, first: int) -> int: ...
    def half_step(
        self,
        name: str,
        k: list[NDArray],
        x: NDArray,
        weights: NDArray[np.float64],
        how: tuple[int, int, bool],
        threads: int,
    ) -> tuple[NDArray, NDArray[np.float64], NDArray[np.float64]]: ...
    def evaluate(
        self, k: list[NDArray], x: NDArray, how: tuple[int, bool], threads: int
    ) -> NDArray[np.float64]: ...
    def first_infinite(self, k: list[NDArray], x: NDArray, threads: int) -> tuple[int, int, float] | None: ...
    def arrays(self) -> _Arrays: ...

def carry_on(y: NDArray, x: NDArray, beta: float, upwards: bool) -> NDArray: ...
def row_sums(pieces: list[NDArray]) -> list[float]: ...
def read_matrix(
    path: str, layer: str | None, single: bool
) -> tuple[_Arrays, tuple[list[str] | None, list[str] | None]]: ...
def read_lines(path: str, side: int, first: int, end: int, single: bool) -> _Arrays: ...
def folder(
    path: str,
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], list[str] | None, list[str] | None]: ...
def convert(source: str, layer: str | None, to: str, memory: int) -> None: ...
def set_instruction_level(name: str) -> None: ...

class State:
    def __new__(cls, path: str, shape: tuple[int, int], fingerprint: str, rank: int | None) -> State: ...

_How = tuple[str, bool | None, str, int, int | None, int, float, float | None, int | None]

def factorize_on(
    object: Any,
    start: tuple[int, int] | tuple[NDArray, NDArray] | State,
    how: _How,
    saving: tuple[str | None, float],
    callback: Callable[..., bool] | None,
) -> tuple[NDArray, NDArray, _Facts, list[_Numbers], str, str]: ...
def hash_text(shape: tuple[int, int], part: int) -> str: ...
def fingerprint(hash: str, sparse: bool, single: bool) -> str: ...
