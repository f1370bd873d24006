"""Commands with `--cdp-endpoint`: in a Chrome with three tabs that a person started by hand."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import async_playwright
from typer.testing import CliRunner

from agent.events import Event, StepEnded
from kb_schema.session_reader import read_session
from kb_store import load_knowledge, open_stores
from kb_store.store_factory import open_runs
from loaders.files.folder_reader import read_knowledge_folder
from periplus.cli import app
from periplus.errors import UserError
from periplus.run_store_adapters import find_run
from periplus.runs.task_runs import (
    TaskRunRequest,
    TaskRunResources,
    build_resume_request,
    execute_task_run,
)
from periplus.seed_sites.seed_manifests import find_seed
from periplus.seed_sites.site_process import start_seed_site
from periplus.session_setup import BrowserOptions, open_working_context, start_browser
from periplus.session_setup.storage_states import copy_session
from tests.support import warm
from tests.support.given_chrome import GivenChrome, given_chrome
from tests.support.small_sites import Answered, Asked, running_site

HARBOUR = Path(__file__).parents[2] / "data" / "harbour"


@pytest.fixture(scope="module")
async def harbour() -> AsyncIterator[str]:
    async with start_seed_site(find_seed(str(HARBOUR))) as url:
        yield url


@pytest.fixture
def chrome(tmp_path: Path, harbour: str) -> Iterator[GivenChrome]:
    with given_chrome(tmp_path, (f"{harbour}/quay", "about:blank", f"{harbour}/boats/new")) as running:
        assert len(running.pages()) == 3
        yield running


def boats_of(harbour: str) -> list[str]:
    with urllib.request.urlopen(f"{harbour}/state") as answer:
        return [each["name"] for each in json.load(answer)["boats"]]


def periplus(*arguments: str, cwd: Path, endpoint: str) -> str:
    done = warm.run(
        "periplus", *arguments, "--cdp-endpoint", endpoint, cwd=cwd, env={"COLUMNS": "200"}, timeout=200
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


def load_harbour(folder: Path) -> None:
    assert warm.run("periplus", "kb", "load", str(HARBOUR / "kb"), cwd=folder, timeout=100).returncode == 0


@pytest.mark.always
def test_a_run_works_in_a_tab_of_its_own_and_closes_it(chrome, harbour, tmp_path):
    load_harbour(tmp_path)
    before = chrome.pages()
    given = ["register_boat", "--base-url", harbour, "-i", "boat_name=Skua", "--json"]
    result = json.loads(periplus("run", *given, cwd=tmp_path, endpoint=chrome.endpoint))
    assert (result["status"], result["evidence"]) == ("success", "verified")
    assert "Skua" in boats_of(harbour)
    assert chrome.pages() == before


def test_a_map_and_a_verification_open_windows_of_their_own_and_close_them(chrome, harbour, tmp_path):
    before = chrome.pages()
    told = periplus("map", harbour, "--states", "3", "--json", cwd=tmp_path, endpoint=chrome.endpoint)
    assert json.loads(told)["screens"]
    requirement = 'Feature: boats\n\nScenario: open the form\n  Given I am on "/quay"\n    When I click "Register a boat"\n    Then I am on "/boats/new"\n'
    (tmp_path / "boats.feature").write_text(requirement)
    given = ["boats.feature", "--base-url", harbour, "--no-tests", "--json"]
    told = periplus("verify", *given, cwd=tmp_path, endpoint=chrome.endpoint)
    assert [each["verdict"] for each in json.loads(told)["requirements"]] == ["pass"]
    assert chrome.pages() == before


@pytest.mark.sampled(0.5)
def test_a_demo_is_shown_in_the_given_browser(chrome, harbour, tmp_path):
    before = chrome.pages()
    told = periplus(
        *("demo", str(HARBOUR), "--speed", "0", "--no-voice", "--base-url", harbour),
        cwd=tmp_path,
        endpoint=chrome.endpoint,
    )
    assert "done" in told
    assert chrome.pages() == before


async def test_a_recording_hears_its_own_tab_and_no_other(chrome, harbour, tmp_path):
    before = chrome.pages()
    started = warm.start(
        *("periplus", "record", f"{harbour}/boats/new", "--out", "trace", "--cdp-endpoint", chrome.endpoint),
        cwd=tmp_path,
        streamed=True,
    )
    async with async_playwright() as person:  # the person's own connection
        browser = await person.chromium.connect_over_cdp(chrome.endpoint)
        context = browser.contexts[0]
        theirs = [page for page in context.pages if page.url.endswith("/boats/new")]
        line = ""
        while "recording" not in line:
            line = await asyncio.to_thread(started.stdout.readline)
            assert line, started.communicate()
        page = next((each for each in context.pages if each not in theirs and "boats" in each.url), None)
        while page is None:
            page = next((each for each in context.pages if each not in theirs and "boats" in each.url), None)
            await asyncio.sleep(0.05)  # asking a tab in the background may wait for ever
        await theirs[0].locator("#name").fill("Unheard")
        await page.locator("#name").fill("Heard")
        await page.locator("#moor").click()
        await page.wait_for_url("**/quay*")
        await page.close()
        assert await started.ended() == 0
    trace = read_session(tmp_path / "trace")
    assert [step.action_type for step in trace.steps][-2:] == ["fill", "click"]
    text = "".join(each.read_text() for each in (tmp_path / "trace").rglob("*") if each.is_file())
    assert "Heard" in text
    assert "Unheard" not in text
    assert chrome.pages() == before


async def test_a_recording_in_which_nothing_was_done_fails_and_says_so(chrome, harbour, tmp_path):
    started = warm.start(
        *("periplus", "record", f"{harbour}/boats/new?empty", "--out", "trace"),
        *("--cdp-endpoint", chrome.endpoint),
        cwd=tmp_path,
        streamed=True,
    )
    async with async_playwright() as person:
        browser = await person.chromium.connect_over_cdp(chrome.endpoint)
        context, page = browser.contexts[0], None
        while page is None:
            page = next((each for each in context.pages if each.url.endswith("?empty")), None)
            await asyncio.sleep(0.05)
        await page.wait_for_load_state()
        await page.close()
        assert await started.ended() == 1
    said = await asyncio.to_thread(started.stdout.read)
    assert "no action was recorded: no press of a button or key was seen" in said
    assert "close it" in said


# -- the person's session and dialogs --------------------------------------------------------------------

SIGNED_IN = """<h1>Boats of Ada</h1><script>localStorage.setItem('theme', 'dark');
const asked = indexedDB.open("app", 2); asked.onupgradeneeded = () => asked.result.createObjectStore("kept").put("t1", "token");
</script>"""


def _who(asked: Asked) -> Answered:
    return Answered(
        SIGNED_IN if asked.path == "/" else "<script>document.cookie = 'who=Ada; path=/'</script>Hello"
    )


async def test_a_job_has_the_persons_session_and_a_copy_of_it_has_nothing_of_other_sites(tmp_path):
    with running_site(_who) as site, running_site(_who) as other:
        other_base = other.base.replace("127.0.0.1", "localhost")  # cookies do not know ports
        with given_chrome(tmp_path, (f"{site.base}/hello", f"{site.base}/", f"{other_base}/hello")) as chrome:
            options = BrowserOptions(cdp_endpoint=chrome.endpoint)
            async with start_browser(options=options) as browser:
                copied = await copy_session(browser, [f"{site.base}/x"])
            assert [(each["name"], each["value"]) for each in copied["cookies"]] == [("who", "Ada")]
            assert {each["domain"] for each in copied["cookies"]} == {"127.0.0.1"}
            (origin,) = copied["origins"]
            assert origin["origin"] == site.base
            assert origin["localStorage"] == [{"name": "theme", "value": "dark"}]
            ((kept,),) = (each["stores"] for each in origin["indexedDB"])
            assert kept["records"] == [{"key": "token", "value": "t1"}]
            async with open_working_context(options) as context:
                page = await context.new_page()
                await page.goto(f"{site.base}/x")
                assert await page.evaluate("document.cookie") == "who=Ada"
            assert len(chrome.pages()) == 3


async def test_a_persons_dialog_is_left_to_the_person(chrome):
    async with async_playwright() as person:
        browser = await person.chromium.connect_over_cdp(chrome.endpoint)
        page = browser.contexts[0].pages[0]
        opened: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        page.on("dialog", lambda dialog: opened.set_result(dialog))  # noqa: PLW0108 - the driver marks functions
        async with open_working_context(BrowserOptions(cdp_endpoint=chrome.endpoint)) as context:
            asked = asyncio.create_task(page.evaluate("confirm('Cast off?')"))
            dialog = await opened
            own = await context.new_page()
            await own.goto("data:text/html,<script>alert('ours')</script>done")  # ours is answered
            assert await own.inner_text("body") == "done"
            await dialog.accept()
            assert await asked is True


# -- the browser dies in mid-task ------------------------------------------------------------------------


async def test_a_browser_that_dies_in_mid_task_is_a_run_that_can_be_resumed(harbour, tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path / "data"))
    knowledge, _ = read_knowledge_folder(HARBOUR / "kb")
    tabs = (f"{harbour}/quay", "about:blank", "about:blank")
    before = boats_of(harbour)
    async with open_stores(tmp_path / "data") as stores, open_runs(tmp_path / "data") as runs:
        await load_knowledge(stores.documents, stores.graph, knowledge)
        asked = TaskRunRequest("harbour", "register_boat", base_url=harbour, values={"boat_name": "Tern"})

        def resources(chrome: GivenChrome, name: str, *listeners) -> TaskRunResources:
            options = BrowserOptions(cdp_endpoint=chrome.endpoint)
            (tmp_path / name).mkdir()
            return TaskRunResources(
                stores, runs, lambda storage: open_working_context(options, storage), tmp_path / name,
                listeners=listeners,
            )  # fmt: skip

        with given_chrome(tmp_path, tabs) as chrome:

            def kill(event: Event) -> None:
                if isinstance(event, StepEnded) and event.step_id == "fill_name":
                    chrome.kill()

            result = await execute_task_run(asked, resources(chrome, "one", kill))
            assert not result.complete
            assert "--resume" in (result.hint or ""), (result.error, result.hint)
        assert boats_of(harbour) == before
        stored = await runs.checkpoint(asked.run_id)
        assert stored is not None
        assert stored.state["storage"] == {"cookies": [], "origins": []}, "cookies of a person are not stored"
        with given_chrome(tmp_path, tabs) as chrome:
            again = build_resume_request(await find_run(runs, asked.run_id), values={"boat_name": "Tern"})
            result = await execute_task_run(again, resources(chrome, "two"))
            assert result.complete, result.error
            assert len(chrome.pages()) == 3
    assert boats_of(harbour) == [*before, "Tern"]


# -- options ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ["run", "register_boat"],
        ["record", "http://127.0.0.1:9/"],
        ["map", "http://127.0.0.1:9/"],
        ["verify", "x.txt"],
        ["demo"],
    ],
)
@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--cdp-endpoint", "http://10.0.0.7:9222"], "--allow-remote-cdp"),
        (["--cdp-endpoint", "nine"], "is no address"),
        (["--cdp-endpoint", "http://127.0.0.1:9", "--channel", "chrome"], "for a browser that is started"),
        (["--allow-remote-cdp"], "needs --cdp-endpoint"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_done(command, given, says, tmp_path, monkeypatch):
    monkeypatch.setenv("PERIPLUS_DATA_DIR", str(tmp_path))
    error = CliRunner().invoke(app, [*command, *given]).exception
    assert isinstance(error, UserError), error
    assert error.code == 2
    assert says in str(error)
