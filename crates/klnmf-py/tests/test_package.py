"""The package itself: what it exports, what it documents, what it promises to type checkers."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path
from typing import get_args

import klnmf
import numpy as np
import pytest
from klnmf import _choices, _klnmf


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
    promised = {}
    for node in stub.body:
        if isinstance(node, ast.FunctionDef):
            promised[node.name] = [arg.arg for arg in node.args.args]
        elif isinstance(node, ast.ClassDef):
            for method in (item for item in node.body if isinstance(item, ast.FunctionDef)):
                # A call of the class, without the class itself.
                is_new = method.name == "__new__"
                name = node.name if is_new else f"{node.name}.{method.name}"
                promised[name] = [arg.arg for arg in method.args.args][is_new:]
    native = {}
    for name, thing in vars(_klnmf).items():
        is_error = isinstance(thing, type) and issubclass(thing, Exception)
        if callable(thing) and not is_error and not name.startswith("_"):
            native[name] = list(inspect.signature(thing).parameters)
            for method, function in vars(thing).items() if isinstance(thing, type) else ():
                if not method.startswith("_"):
                    called = callable(function)
                    native[f"{name}.{method}"] = (
                        list(inspect.signature(function).parameters) if called else ["self"]
                    )
    assert promised == native


MODULES = ["klnmf", "klnmf.sklearn", "klnmf.scanpy", "klnmf.plot"]
FUNCTIONS = [
    thing
    for module in map(importlib.import_module, MODULES)
    for thing in vars(module).values()
    if inspect.isfunction(thing) and thing.__name__ in module.__all__
]


def section(thing, title):
    """A section of a docstring."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=\n\n\S|\Z)", inspect.getdoc(thing), flags=re.M | re.S)
    return found[1] if found else ""


def named(text):
    """The names that a section describes."""
    heads = re.findall(r"^(\*{0,2}\w.*?) : |^(\*\*\w+)$", text, flags=re.M)
    return [name.lstrip("*") for head in heads for name in "".join(head).split(", ")]


@pytest.mark.parametrize(
    "thing", [*FUNCTIONS, klnmf.KLNMF, klnmf.TopicModel], ids=lambda thing: thing.__name__
)
def test_arguments_and_results_are_documented(thing):
    arguments = list(inspect.signature(thing).parameters)
    assert sorted(named(section(thing, "Parameters"))) == sorted(arguments)
    assert inspect.isclass(thing) or section(thing, "Returns")


@pytest.mark.parametrize("make", [klnmf.KLNMF, klnmf.TopicModel])
def test_attributes_are_documented_and_annotated(make):
    annotated = {name for base in make.__mro__ for name in vars(base).get("__annotations__", {})}
    assert set(named(section(make, "Attributes"))) == {name for name in annotated if name.endswith("_")}
    model = make(2, random_state=0).fit(np.ones((5, 4)))
    assert {name for name in vars(model) if name.endswith("_")} <= annotated
    assert make.fit.__annotations__["return"] == "Self"


def test_choices_are_those_of_the_engine():
    hints = {"solver": "Solver", "update": "Update"}
    for name, choice in hints.items():
        assert inspect.signature(klnmf.factorize).parameters[name].annotation == choice
        with pytest.raises(ValueError) as caught:
            klnmf.factorize(np.ones((3, 4)), 1, **{name: "none of them"})
        said = re.split(r", | or ", str(caught.value).partition("choose ")[2])
        assert said == list(get_args(getattr(_choices, choice)))
    assert klnmf.Separation.__iter__.__annotations__["return"] == "Iterator[NDArray]"
