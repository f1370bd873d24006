"""Every example of docs/python.md runs, on the sample site, in the order of the page."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import periplus
from tests.support.foreign_sites import spadeworks_site

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
EXPECTED = [
    "success verified agt-",
    "settings",
    """no task 'create_agnt' did you mean "create_agent"?""",
    "welcome_back",
    "Try_to_sign_in",
    "email pass",
    "True",
]
"""What each block prints."""

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder, in which the sample knowledge base is found as the page names it."""
    (tmp_path / "seeds").symlink_to(ROOT / "seeds")
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def test_the_examples_run_in_the_order_of_the_page(folder, capsys, chromium_path):
    assert len(BLOCKS) == len(EXPECTED)
    with spadeworks_site() as base:
        for block, expected in zip(BLOCKS, EXPECTED, strict=True):
            source = block.replace("http://127.0.0.1:8080", base)
            code = compile(source, "docs/python.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            made = eval(code, {"chromium": chromium_path})
            if inspect.iscoroutine(made):
                await made
            printed = capsys.readouterr().out
            assert expected in printed, f"{source}\nprinted:\n{printed}"


def test_every_name_of_the_api_is_explained_on_the_page_and_has_a_docstring():
    for name in periplus.__all__:
        assert f"`{name}" in PAGE or f"{name}`" in PAGE, name
        assert getattr(periplus, name).__doc__, name
    assert set(periplus.__all__) == set(periplus._MODULES)


def test_importing_periplus_imports_nothing_slow():
    code = "import sys, periplus; sys.exit(bool({'playwright', 'pydantic', 'asyncio'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_package_of_the_callers_own_that_hides_ours_is_told(tmp_path):
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "__init__.py").write_text("")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    command = [sys.executable, "-c", "from periplus import open_store"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ImportError: Periplus needs its own package 'agent'" in done.stderr
    assert str(tmp_path / "agent") in done.stderr
