"""The examples, and the Python in the documentation, run as they are."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent.parent
PAGES = [HERE / "README.md", HERE.parent.parent / "docs" / "python.md"]


def run(*arguments, cwd):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "MPLBACKEND": "Agg", "TMPDIR": str(cwd)},
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("example", sorted(HERE.glob("examples/*.py")), ids=lambda path: path.stem)
def test_example(example, tmp_path):
    run(example, cwd=tmp_path)


@pytest.mark.parametrize("page", [page for page in PAGES if page.exists()], ids=lambda path: path.name)
def test_page(page, tmp_path):
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.M | re.S))
    assert code
    run("-c", code, cwd=tmp_path)


def test_section_of_the_readme(tmp_path):
    readme = HERE.parent.parent / "README.md"
    if not readme.exists():
        pytest.skip("outside the repository")
    section = re.search(r"^## .*Python.*?\n(.*?)(?=^## |\Z)", readme.read_text(), re.M | re.S)
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", section[1], flags=re.M | re.S))
    assert code
    run("-c", code, cwd=tmp_path)
