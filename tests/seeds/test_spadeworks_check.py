"""`periplus kb check` on the seed: every screen in both designs, and what a spoilt signature is told."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.async_api import Browser, Page

from agent.page.snapshot_capture import take_snapshot
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.snapshot_folder import list_snapshots, write_snapshot
from periplus.cli import main
from tests.seeds.test_spadeworks_kb import ADDRESSES, NEEDS_ACTING, ROOT, SEED, Site, site  # noqa: F401 - fixture

pytestmark = pytest.mark.sampled(0.5, together=True)  # showing every screen is what takes long

ANYBODY = ("login", "login_code")
"""Screens that one who is signed in does not get to see."""
AGENT_PAGES = r"^https://app\.spadeworks\.co/agent/.*$"


class Gallery:
    """A folder of snapshots with labels. The second design is stored as any other tool would."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.labels = folder, folder / "labels.json"
        self._labels: dict[str, str | None] = {}

    async def add(self, page: Page, name: str, label: str | None, *, ours: bool) -> None:
        taken = await take_snapshot(page)
        if not ours:
            taken = PageSnapshot(url=taken.url, title=taken.title, html=await page.content())
        write_snapshot(taken, self.folder / name)
        self._labels[name] = label
        self.labels.write_text(json.dumps(self._labels))


@pytest.fixture(scope="session")
async def gallery(browser: Browser, site: Site, tmp_path_factory: pytest.TempPathFactory) -> Gallery:  # noqa: F811
    """Every screen in both designs, and a page that nobody described."""
    found = Gallery(tmp_path_factory.mktemp("gallery"))
    for version in (1, 2):
        context = await browser.new_context(viewport={"width": 1280, "height": 720})
        page = await context.new_page()
        await site.reset(page, version)
        for screen_id in ANYBODY:
            await site.show(page, screen_id)
            await found.add(page, f"v{version}/{screen_id}", screen_id, ours=version == 1)
        await site.sign_in(page)
        for screen_id in sorted({*ADDRESSES, *NEEDS_ACTING} - {*ANYBODY}):
            await site.show(page, screen_id)
            await found.add(page, f"v{version}/{screen_id}", screen_id, ours=version == 1)
        await site.reset(page, version)
        await page.goto(f"{site.base}/authenticator/code")
        await found.add(page, f"v{version}/fragment", None, ours=version == 1)
        await context.close()
    return found


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    """A copy of the seed's knowledge to spoil."""
    return Path(shutil.copytree(SEED / "kb", tmp_path / "kb"))


def rewrite(kb: Path, screen_id: str, change: Callable[[dict[str, Any]], None]) -> None:
    file = kb / "screens" / f"{screen_id}.yaml"
    screen = yaml.safe_load(file.read_text(encoding="utf-8"))
    change(screen)
    file.write_text(yaml.safe_dump(screen), encoding="utf-8")


def check(kb: Path, gallery: Gallery, *options: str) -> tuple[int, str]:
    """The command as a process of its own: exit code, and what it said."""
    command = [sys.executable, "-m", "periplus", "kb", "check", kb, "--snapshots", gallery.folder, *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.fixture
def report_of(kb: Path, gallery: Gallery, capsys: pytest.CaptureFixture[str]) -> Callable[[], dict[str, Any]]:
    """Everything the command finds in the copy, asked in this process: it is asked often."""

    def run() -> dict[str, Any]:
        with pytest.raises(SystemExit) as ended:
            main(
                [
                    "kb",
                    "check",
                    str(kb),
                    "--snapshots",
                    str(gallery.folder),
                    "--labels",
                    str(gallery.labels),
                    "--json",
                ]
            )
        report: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert (ended.value.code or 0) == int(any(finding["breaks"] for finding in report["findings"]))
        return report

    return run


def put_in(kb: Path, proposals: list[dict[str, Any]]) -> None:
    for proposal in proposals:

        def add(screen: dict[str, Any], each: dict[str, Any] = proposal) -> None:
            screen["state_signature"].setdefault(each["slot"], []).append(each["condition"])

        rewrite(kb, proposal["screen_id"], add)


def test_the_seed_knows_every_screen_in_both_designs(gallery):
    assert len(list_snapshots(gallery.folder)) == 2 * (len(ADDRESSES) + len(NEEDS_ACTING) + 1)
    code, out = check(SEED / "kb", gallery, "--labels", str(gallery.labels))
    assert code == 0, out
    assert out.startswith("fine: spadeworks, 21 screens; 44 of 44 labelled snapshots right\n")
    code, out = check(SEED / "kb", gallery)
    assert code == 0, out
    assert "42 of 44 snapshots match" in out
    assert "v1/fragment, v2/fragment" in out


def test_create_and_edit_without_what_separates_them_get_it_back(kb, report_of):
    def spoil(own: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
        def change(screen: dict[str, Any]) -> None:
            screen["url_patterns"] = [AGENT_PAGES]
            signature = screen["state_signature"]
            signature["required_indicators"] = [
                {"type": "dom_contains", "value": "Agent Info", "selector": "h2"}
            ]
            signature["optional_indicators"] = [own]
            signature["negative_indicators"] = []

        return change

    rewrite(kb, "agent_create", spoil({"type": "dom_element", "selector": "#language"}))
    rewrite(kb, "agent_edit", spoil({"type": "dom_element", "selector": "#agent-name"}))
    report = report_of()
    broken = {(each["screen_id"], each["other"]): each for each in report["findings"] if each["breaks"]}
    assert set(broken) == {("agent_create", "agent_edit"), ("agent_edit", "agent_create")}
    for (screen_id, other), finding in broken.items():
        assert finding["kind"] == "taken_for_another"
        assert set(finding["snapshots"]) == {f"v1/{screen_id}", f"v2/{screen_id}"}
        proposal = finding["proposal"]
        assert (proposal["screen_id"], proposal["holds"], proposal["elsewhere"]) == (other, proposal["of"], 0)
    put_in(kb, [finding["proposal"] for finding in broken.values()])
    mended = report_of()
    assert (mended["right"], [each for each in mended["findings"] if each["breaks"]]) == (44, [])


def test_negatives_on_the_wrong_screens_are_named_and_what_is_proposed_mends_it(kb, report_of):
    def spoil(text: str) -> Callable[[dict[str, Any]], None]:
        def change(screen: dict[str, Any]) -> None:
            screen["url_patterns"] = [AGENT_PAGES]
            signature = screen["state_signature"]
            signature["required_indicators"] = [
                {"type": "dom_contains", "value": "Agent Info", "selector": "h2"}
            ]
            signature["negative_indicators"] = [{"type": "dom_contains", "value": text, "selector": "h1"}]
            signature["optional_indicators"] = []

        return change

    rewrite(kb, "agent_create", spoil("Create Agent"))
    rewrite(kb, "agent_edit", spoil("Edit Agent"))
    report = report_of()
    assert report["right"] == 40
    found = {kind: [each for each in report["findings"] if each["kind"] == kind]
             for kind in ("rejects_its_own", "taken_for_another")}  # fmt: skip
    assert [each["screen_id"] for each in found["rejects_its_own"]] == ["agent_create", "agent_edit"]
    assert {(each["screen_id"], each["other"]) for each in found["taken_for_another"]} == {
        ("agent_create", "agent_edit"),
        ("agent_edit", "agent_create"),
    }

    def without_negatives(screen: dict[str, Any]) -> None:
        screen["state_signature"]["negative_indicators"] = []

    for screen_id in ("agent_create", "agent_edit"):  # as `rejects_its_own` says
        rewrite(kb, screen_id, without_negatives)
    put_in(kb, [each["proposal"] for each in found["taken_for_another"]])
    mended = report_of()
    assert (mended["right"], [each for each in mended["findings"] if each["breaks"]]) == (44, [])


def test_a_heading_that_changed_is_named_with_one_that_is_there(kb, report_of):
    def outdated(screen: dict[str, Any]) -> None:
        screen["state_signature"]["required_indicators"][0]["value"] = "The inbox of old"

    rewrite(kb, "email_inbox", outdated)
    report = report_of()
    (missing,) = (each for each in report["findings"] if each["kind"] == "required_missing")
    assert missing["screen_id"] == "email_inbox"
    assert (missing["proposal"]["holds"], missing["proposal"]["of"], missing["proposal"]["elsewhere"]) == (
        2,
        2,
        0,
    )

    def instead(screen: dict[str, Any]) -> None:
        screen["state_signature"]["required_indicators"] = [missing["proposal"]["condition"]]

    rewrite(kb, "email_inbox", instead)
    assert report_of()["right"] == 44
