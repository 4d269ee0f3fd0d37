"""The package itself: what it exports, what it documents, what it promises to type checkers."""

import ast
import importlib
import inspect
import subprocess
import sys
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


@pytest.mark.parametrize("name", [name for name in dir(klnmf) if name != "__version__"])
def test_everything_is_there_and_documented(name):
    assert inspect.getdoc(getattr(klnmf, name))


def test_licences_are_in_the_wheel():
    files = [file.name for file in metadata.files("klnmf")]
    assert {"LICENSE-MIT", "LICENSE-APACHE"} <= set(files)


def test_unknown_names():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        klnmf.nothing  # noqa: B018
    assert set(klnmf.__all__) | OPTIONAL == set(dir(klnmf))


OPTIONAL = {"KLNMF", "TopicModel", "plot", "scanpy", "sklearn"}


def with_packages(code, **modules):
    """What a program prints where these modules are stood in for, or missing if None."""
    lines = [f"sys.modules[{name!r}] = {stand_in}" for name, stand_in in modules.items()]
    command = [sys.executable, "-c", "\n".join(["import sys, types", *lines, code])]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


NUMPY_ONLY = dict.fromkeys(("scipy", "sklearn", "matplotlib", "anndata", "pandas", "tqdm"))
HINT = "scikit-learn ≥ 1.6: pip install -U scikit-learn"
CODE = """
import klnmf
for line in ("klnmf.KLNMF", "from klnmf import TopicModel", "import klnmf.sklearn", "klnmf.sklearn"):
    try:
        exec(line)
    except (AttributeError, ImportError) as error:
        print(error)
"""


def test_without_other_packages():
    code = f"""
import inspect, pydoc, numpy as np, klnmf
from klnmf import *
print(hasattr(klnmf, "KLNMF"), [name for name in dir(klnmf) if name in {OPTIONAL}])
inspect.getmembers(klnmf)
pydoc.render_doc(klnmf)
print(factorize(np.ones((3, 4)), 1).status)
"""
    assert with_packages(code, **NUMPY_ONLY) == ["False []", "converged"]


@pytest.mark.parametrize("scikit_learn", [None, "types.ModuleType('sklearn')"], ids=["none", "old"])
def test_what_needs_scikit_learn_says_so(scikit_learn):
    said = with_packages(CODE, sklearn=scikit_learn)
    assert len(said) == 4 and all(HINT in line for line in said)


def test_import_of_everything_leaves_others_names_alone():
    code = "import klnmf, sklearn\nfrom klnmf import *\nprint(sklearn.__name__, decompose.__name__)"
    assert with_packages(code) == ["sklearn decompose"]


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
