"""The examples, and the Python in the documentation, run as they are."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent.parent
ROOT = HERE.parent.parent
PYTHON = r"^```python\n(.*?)^```"
PAGES = [page for page in [HERE / "README.md", ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))] if page.exists()]


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


@pytest.mark.parametrize("page", PAGES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_page(page, tmp_path):
    code = "\n".join(re.findall(PYTHON, page.read_text(), flags=re.M | re.S))
    if code:
        run("-c", code, cwd=tmp_path)
    else:
        assert "```python" not in page.read_text() and page.name != "README.md"
