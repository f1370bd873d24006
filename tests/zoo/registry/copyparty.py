"""Copyparty, a file manager: plain JavaScript, its own dialogs, a toolbar of icons; nobody signs in.

Licence: MIT. Versions 1.20.26 and 1.9.31 differ in the toolbar and the dialogs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from playwright.async_api import Locator, Page

from tests.support.people import Noise
from tests.zoo.registry.serving import (
    ServedApplication,
    copy_files,
    free_port,
    installed,
    instances,
    serve,
    work_folder,
)
from tests.zoo.zoo_jobs import Application, Given, Job, RunningApplication, add_invalid

VERSIONS = ("1.20.26", "1.9.31")
"""The newer first."""
_FOLDERS = ("archive", "drafts", "photos", "talks", "letters")
_FILES = {
    "budget 2024.txt": "12 000",
    "minutes March.md": "Present: all",
    "minutes April.md": "Present: most",
    "poster.svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
    "song.txt": "La la",
    "recipe soup.txt": "Water, salt",
    "recipe bread.txt": "Flour, water",
    "Žofie 東京.txt": "Dobrý den",
    "Ruth's list.txt": "Milk",
    "guests.csv": "name,meal",
    "invoice 17.csv": "17,40",
    "invoice 18.csv": "18,90",
    "old plan.md": "# Plan",
    "packing.md": "Socks",
    "drafts/speech.md": "Dear friends",
    "talks/clouds.md": "Cumulus",
    "letters/to Kofi.txt": "Dear Kofi",
}


@asynccontextmanager
async def start_copyparty(parent: Path, version: str = VERSIONS[0]) -> AsyncIterator[RunningApplication]:
    """Serve a folder in which everybody may do everything."""
    python = installed("copyparty", version) / "bin" / "python"
    async with work_folder(parent) as folder:
        shared, seed, port = folder / "shared", folder / "seed", free_port()
        shared.mkdir()
        for name in _FOLDERS:
            (seed / name).mkdir(parents=True)
        for name, text in _FILES.items():
            (seed / name).write_text(text, encoding="utf-8")
        copy_files(seed, shared)
        command = [
            python, "-m", "copyparty", "-i", "127.0.0.1", "-p", str(port), "-v", f"{shared}::rwmd",
            "--hist", folder / "hist", "-q",
        ]  # fmt: skip
        home = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")}
        async with serve(command, folder, f"http://127.0.0.1:{port}/", home):
            yield ServedApplication(
                f"http://127.0.0.1:{port}", lambda: copy_files(seed, shared), lambda: _read_state(shared)
            )


def _read_state(folder: Path) -> Any:
    """Return the folders, and the files with their texts."""
    found = sorted(each for each in folder.rglob("*") if ".hist" not in each.parts)
    return {
        each.relative_to(folder).as_posix(): "(folder)"
        if each.is_dir()
        else each.read_text(encoding="utf-8", errors="replace")
        for each in found
    }


async def _open(page: Page, folder: str) -> None:
    await page.locator("#files a", has_text=folder).first.wait_for()
    await page.locator("#files").get_by_role("link", name=f"{folder}/", exact=True).click()
    await page.wait_for_url(f"**/{folder}/**")


def _row(page: Page, name: str) -> Locator:
    return page.locator("#files tbody tr").filter(has=page.get_by_role("link", name=name, exact=True))


async def _select(page: Page, name: str) -> None:
    await _row(page, name).locator("td").last.click()


async def _answered(page: Page) -> None:
    await page.locator("#toast.vis").wait_for()


async def make_folder(page: Page, given: Given, noise: Noise) -> None:
    """Make a folder in a folder."""
    await _open(page, given["where"])
    await page.locator("a[data-dest=mkdir]").click()
    await noise.type("#op_mkdir input[name=name]", given["name"])
    await page.get_by_role("button", name="make directory").click()
    made = f"/{given['where']}/{given['name']}/"
    await page.wait_for_url(lambda url: made in unquote(url))


async def rename_file(page: Page, given: Given, noise: Noise) -> None:
    await _select(page, given["name"])
    await page.locator("#fren").click()
    await noise.retype("[id^=rn_new]", given["new name"])
    await page.locator("#rn_apply").click()
    await _answered(page)


async def delete_file(page: Page, given: Given, noise: Noise) -> None:
    await _select(page, given["name"])
    await page.locator("#fdel").click()
    await page.locator("#modalc", has_text="DELETE these").wait_for()
    await page.locator("#modal-ok").click()
    await page.locator("#modalc", has_text="Last chance").wait_for()
    await page.locator("#modal-ok").click()
    await _answered(page)


async def move_files(page: Page, given: Given, noise: Noise) -> None:
    """Select every file whose name has a word, cut them, and paste them into a folder."""
    rows = page.locator("#files tbody tr").filter(
        has=page.locator("td:nth-child(2) a", has_text=given["word"])
    )
    await rows.first.wait_for()
    for row in await rows.all():
        await row.locator("td").last.click()
    await page.locator("#fcut").click()
    await _open(page, given["where"])
    await page.locator("#fpst").click()
    await page.locator("#modal-ok").click()
    await _answered(page)


def _folder(name: str, where: str) -> dict[str, str]:
    return {"where": where, "name": name}


def _renamed(name: str, new: str) -> dict[str, str]:
    return {"name": name, "new name": new}


def _moved(word: str, where: str) -> dict[str, str]:
    return {"word": word, "where": where}


JOBS = [
    Job("make_folder", make_folder, instances(
        ("plain", _folder("spring", "photos")),
        ("plain", _folder("2023", "archive")),
        ("plain", _folder("unsent", "letters")),
        ("plain", _folder("rehearsal", "talks")),
        ("plain", _folder("poems", "drafts")),
        ("plain", _folder("summer by the lake", "photos")),
        ("plain", _folder("2022", "archive")),
        ("plain", _folder("answered", "letters")),
        ("quotes", _folder("Ruth's best", "photos")),
        ("unicode", _folder("Žofie 東京", "letters")),
        ("unicode", _folder("Größe прошу", "talks")),
        ("missing", _folder("autumn", "paintings")),
        ("missing", _folder("winter", "photo")),
    ), "/", "create"),
    Job("rename_file", rename_file, instances(
        ("plain", _renamed("budget 2024.txt", "budget final.txt")),
        ("plain", _renamed("poster.svg", "poster red.svg")),
        ("plain", _renamed("song.txt", "hymn.txt")),
        ("plain", _renamed("guests.csv", "everybody.csv")),
        ("plain", _renamed("packing.md", "luggage.md")),
        ("plain", _renamed("old plan.md", "new plan.md")),
        ("quotes", _renamed("Ruth's list.txt", "Greta's list.txt")),
        ("quotes", _renamed("recipe soup.txt", "Kofi's soup.txt")),
        ("unicode", _renamed("Žofie 東京.txt", "大阪 Žofie.txt")),
        ("existing", _renamed("invoice 17.csv", "invoice 18.csv")),
        ("existing", _renamed("minutes April.md", "minutes March.md")),
        ("missing", _renamed("novel.txt", "novel 2.txt")),
        ("missing", _renamed("minutes", "minutes.md")),
    ), "/", "edit"),
    Job("delete_file", delete_file, instances(
        *(("plain", {"name": each}) for each in (
            "old plan.md", "guests.csv", "song.txt", "poster.svg", "budget 2024.txt", "packing.md", "invoice 17.csv",
            "minutes April.md", "recipe bread.txt",
        )),
        ("quotes", {"name": "Ruth's list.txt"}),
        ("unicode", {"name": "Žofie 東京.txt"}),
        ("missing", {"name": "novel.txt"}),
        ("missing", {"name": "recipe.txt"}),
    ), "/", "delete"),
    Job("move_files", move_files, instances(
        ("plain", _moved("minutes", "archive")),
        ("plain", _moved("recipe", "letters")),
        ("plain", _moved("invoice", "talks")),
        ("plain", _moved(".csv", "archive")),
        ("plain", _moved(".md", "drafts")),
        ("plain", _moved("poster", "photos")),
        ("plain", _moved("plan", "talks")),
        ("plain", _moved(".txt", "letters")),
        ("quotes", _moved("Ruth's", "letters")),
        ("unicode", _moved("東京", "photos")),
        ("missing", _moved("novel", "archive")),
        ("missing", _moved("recipe", "paintings")),
    ), "/", "list"),
]  # fmt: skip

INVALID: dict[str, Given] = {"rename_file": _renamed("poster.svg", "song.txt")}
"""Values that it refuses, for a recording that must not count."""


COPYPARTY = Application(
    "copyparty", "plain JavaScript", add_invalid(JOBS, INVALID), start_copyparty,
    partial(start_copyparty, version=VERSIONS[1]),
)  # fmt: skip
