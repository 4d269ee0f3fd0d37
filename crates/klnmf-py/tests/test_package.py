"""The package itself: what it exports, what it documents, what it promises to type checkers."""

import ast
import importlib
import inspect
from importlib import metadata, resources
from pathlib import Path

import klnmf
import pytest
from klnmf import _klnmf


def test_version():
    assert klnmf.__version__ == metadata.version("klnmf")


def test_typed():
    files = resources.files("klnmf")
    assert files.joinpath("py.typed").is_file() and files.joinpath("_klnmf.pyi").is_file()


@pytest.mark.parametrize("name", [name for name in klnmf.__all__ if name != "__version__"])
def test_everything_is_there_and_documented(name):
    assert inspect.getdoc(getattr(klnmf, name))


def test_licences_are_in_the_wheel():
    files = [file.name for file in metadata.files("klnmf")]
    assert {"LICENSE-MIT", "LICENSE-APACHE"} <= set(files)


def test_unknown_names():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        klnmf.nothing  # noqa: B018
    assert set(klnmf.__all__) == set(dir(klnmf))


def test_stub_matches_the_native_half():
    stub = ast.parse(Path(_klnmf.__file__).with_name("_klnmf.pyi").read_text())
    promised = {
        node.name: [arg.arg for arg in node.args.args]
        for node in stub.body
        if isinstance(node, ast.FunctionDef)
    }
    native = {
        name: list(inspect.signature(function).parameters)
        for name, function in vars(_klnmf).items()
        if callable(function) and not name.startswith("_")
    }
    assert promised == native


@pytest.mark.parametrize("module", ["klnmf", "klnmf.sklearn", "klnmf.scanpy", "klnmf.plot"])
def test_public_functions_have_numpydoc_sections(module):
    module = importlib.import_module(module)
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isfunction(thing):
            assert thing.__doc__ and inspect.signature(thing).return_annotation is not inspect.Signature.empty
