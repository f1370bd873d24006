"""A workflow is validated by comparing runs with the traces whose inputs they have, by default where that changes nothing."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import pytest

from tests.support import warm
from tests.support.small_sites import Answered, Asked, induced, running_site

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from playwright.async_api import Page

PEOPLE = ("Ann", "Bob", "Cid", "Dora")


class Members:
    """A list of members with a page for each, and a note that can be sent from there."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.swapped = False
        """Whether the page of a member is now under the name of the next one: a defect that only a comparison shows."""

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.notes.append(asked.form["note"])
            return Answered(location=f"{asked.path}/sent")
        if asked.path.startswith("/member/"):
            name = asked.path.split("/")[2]
            sent = "<p role=status>Note sent</p>" if asked.path.endswith("/sent") else ""
            return Answered(
                f"<title>Member</title><h1>{escape(name)}</h1>{sent}<p>Joined in 2019</p>"
                "<form method=post><label>Note <input name=note></label><button>Send</button></form>"
            )
        rows = "".join(
            f"<tr><td>{name}</td><td><a href=/{self._place(at)}/{name}>Open</a></td></tr>"
            for at, name in enumerate(PEOPLE)
        )
        return Answered(f"<title>Members</title><h1>Members</h1><table>{rows}</table>")

    def _place(self, at: int) -> str:
        return "member" if not self.swapped else f"member/{PEOPLE[at - 1]}"


async def opens(page: Page, given: Mapping[str, str], _dice: object) -> None:
    row = page.locator("tr").filter(has=page.get_by_role("cell", name=given["name"], exact=True))
    await row.get_by_role("link").click()
    await page.wait_for_url("**/member/*")


async def sends(page: Page, given: Mapping[str, str], _dice: object) -> None:
    await opens(page, given, _dice)
    await page.fill("input", given["note"])
    await page.click("button")
    await page.wait_for_url("**/sent")


def _synthesize(folder: Path, *more: str):
    return warm.run(
        "periplus", "synthesize", str(folder / "traces"), "--name", "It", "--out", str(folder / "made"), *more,
        cwd=folder, env={"COLUMNS": "240"}, timeout=170,
    )  # fmt: skip


def _load(folder: Path, base: str) -> None:
    (folder / "kb").mkdir()
    (folder / "kb" / "website.yaml").write_text(
        f"type: website\nwebsite_id: small\nname: Small\nbase_url: {base}\n"
    )
    assert warm.run("periplus", "kb", "load", str(folder / "kb"), cwd=folder).returncode == 0


@pytest.mark.timeout(300)
async def test_a_task_that_sends_nothing_is_validated_by_default_and_a_site_that_does_something_else_is_found(
    browser, tmp_path
):
    members = Members()
    with running_site(members.answer) as site:
        await induced(browser, site, tmp_path / "traces", opens, [{"name": name} for name in PEOPLE[:3]])
        _load(tmp_path, site.base)
        made = _synthesize(tmp_path)
        assert made.returncode == 0, made.stdout + made.stderr
        assert (
            "validation: 3 of 3 runs did what their trace shows; 3 of 3 traces were held out" in made.stdout
        )
        assert "3 of 3 runs" in (tmp_path / "made" / "report.html").read_text()

        left_out = _synthesize(tmp_path, "--no-validate")
        assert left_out.returncode == 0
        assert "validation:" not in left_out.stdout
        assert (
            "not validated on the website: not requested" in (tmp_path / "made" / "report.html").read_text()
        )

        members.swapped = True
        differs = _synthesize(tmp_path, "--publish", "--unverified")
        assert differs.returncode == 1, differs.stdout
        assert "validation: 0 of 3 runs did what their trace shows" in differs.stdout
        assert "not published: validation failed" in differs.stdout


@pytest.mark.timeout(300)
async def test_a_task_that_sends_something_is_only_run_again_if_that_is_asked_for(browser, tmp_path):
    members = Members()
    shown = [{"name": name, "note": f"Hello {name}"} for name in PEOPLE[:3]]
    with running_site(members.answer) as site:
        await induced(browser, site, tmp_path / "traces", sends, shown)
        _load(tmp_path, site.base)
        members.notes.clear()
        made = _synthesize(tmp_path)
        assert made.returncode == 0, made.stdout + made.stderr
        assert "not validated on the website: the task sends POST /member/" in made.stdout
        assert "which would be done again; --validate 3 runs it all the same" in made.stdout
        assert members.notes == []

        asked = _synthesize(tmp_path, "--validate", "2")
        assert asked.returncode == 0, asked.stdout + asked.stderr
        assert "validation: 2 of 2 runs did what their trace shows" in asked.stdout
        assert sorted(members.notes) == ["Hello Ann", "Hello Bob"]


class Boats:
    """Boats that a button deletes by a message that is no form, `fetch` or XHR."""

    def __init__(self) -> None:
        self.left = ["Ada", "Bea", "Cleo", "Dora", "Eva"]

    def answer(self, asked: Asked) -> Answered:
        if asked.method == "POST":
            self.left.remove(asked.query["name"])
            return Answered("gone")
        rows = "".join(
            f"<tr><td>{name}</td><td><button onclick=\"navigator.sendBeacon('/gone?name={name}'); this.closest('tr').remove()\">Delete</button></td></tr>"
            for name in self.left
        )
        return Answered(f"<title>Boats</title><h1>Boats</h1><table>{rows}</table>")


async def deletes(page: Page, given: Mapping[str, str], _dice: object) -> None:
    row = page.locator("tr").filter(has=page.get_by_role("cell", name=given["name"], exact=True))
    await row.get_by_role("button").click()
    await row.wait_for(state="hidden")


async def test_a_button_is_not_pressed_again_though_no_request_of_it_is_seen(browser, tmp_path):
    boats = Boats()
    with running_site(boats.answer) as site:
        await induced(
            browser, site, tmp_path / "traces", deletes, [{"name": name} for name in boats.left[:3]]
        )
        _load(tmp_path, site.base)
        boats.left[:0] = ["Ada", "Bea", "Cleo"]
        made = _synthesize(tmp_path)
        assert made.returncode == 0, made.stdout + made.stderr
        assert "the task presses button 'Delete', which may change something" in made.stdout
        assert boats.left == ["Ada", "Bea", "Cleo", "Dora", "Eva"]


def test_validation_that_is_asked_for_and_left_out_is_an_error(tmp_path):
    (tmp_path / "traces").mkdir()
    made = _synthesize(tmp_path, "--validate", "1", "--no-validate")
    assert made.returncode == 2
