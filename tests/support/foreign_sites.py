"""Sites that are not ours: Django's own admin over a small library, and the pages of MiniWoB++.

Both come from PyPI into folders under `.tools` (`make setup-django`, `make setup-miniwob`). Where
they are missing, tests that need them skip and say why; in CI they fail.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext

from tests.support.needs import lacking

TOOLS = Path(__file__).parents[2] / ".tools"
DJANGO_SITE = Path(__file__).parent / "django_site"
MINIWOB_PAGES = TOOLS / "miniwob/miniwob/html/miniwob"
MINIWOB_COUNT = 130
ADMIN_USER, ADMIN_PASSWORD = "admin", "admin-of-the-tests"


def _missing(what: str, target: str) -> None:
    lacking(f"{what} is not there; `make {target}` installs it")


def plain_python() -> Path:
    """Python of an environment that has pytest-playwright and no Periplus."""
    python = TOOLS / "plain" / "bin" / "python"
    if not python.exists():
        _missing("an environment without Periplus", "setup-plain")
    return python


@contextmanager
def django_site(version: str, database: Path | None = None) -> Iterator[str]:
    """The base URL of the admin's site under that version of Django, with a database of its own: the file
    that is named, which is filled first, or one that nobody else sees.

    The server ends with its stdin, so it cannot outlive us.
    """
    packages = TOOLS / f"django-{version}"
    if not (packages / ".installed").exists():
        _missing(f"Django {version}", "setup-django")
    with tempfile.TemporaryDirectory(prefix="periplus-django-", ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [sys.executable, DJANGO_SITE / "serve.py", database or Path(folder) / "db.sqlite"],
            env=os.environ | {"PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            said = process.stdout.readline()
            if not said.startswith("listening on "):
                process.kill()
                raise RuntimeError(f"the Django site did not start: {process.stderr.read()[-2000:]}")
            yield said.removeprefix("listening on ").strip()
        finally:
            process.stdin.close()
            process.wait(timeout=20)


@contextmanager
def spadeworks_site(*arguments: str) -> Iterator[str]:
    """The base URL of our own sample site, with its test controls."""
    process = subprocess.Popen(
        [sys.executable, "-m", "seeds.spadeworks.site", "--test-controls", "--exit-with-stdin", *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().removeprefix("listening on ").strip()
    finally:
        process.stdin.close()
        process.wait(timeout=20)


async def sign_in_to_admin(context: BrowserContext, base_url: str) -> None:
    """Give the context a session of the administrator."""
    page = await context.new_page()
    await page.goto(f"{base_url}/admin/login/?next=/admin/")
    await page.fill("#id_username", ADMIN_USER)
    await page.fill("#id_password", ADMIN_PASSWORD)
    await page.click("input[type=submit]")
    await page.wait_for_selector("#user-tools")
    await page.close()


@pytest.fixture(scope="session")
def django_admin() -> Iterator[str]:
    """The base URL of a site with the admin of Django 4.2."""
    with django_site("4.2") as url:
        yield url


@pytest.fixture(scope="session")
def miniwob_pages() -> tuple[Path, ...]:
    """The 130 task pages of MiniWoB++, to be opened as files."""
    pages = tuple(sorted(MINIWOB_PAGES.glob("*.html")))
    if len(pages) < MINIWOB_COUNT:
        _missing(f"MiniWoB++ ({len(pages)} pages of {MINIWOB_COUNT})", "setup-miniwob")
    return pages


@pytest.fixture(scope="session")
def spadeworks() -> Iterator[str]:
    """The base URL of Spadeworks."""
    with spadeworks_site() as url:
        yield url


@pytest.fixture(scope="session")
def spadeworks_2() -> Iterator[str]:
    """The base URL of Spadeworks after its redesign."""
    with spadeworks_site("--ui-version", "2") as url:
        yield url
