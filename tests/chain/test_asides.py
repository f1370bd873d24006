"""Dialogs, downloads, other tabs, files and foreign origins: as authored, else refused with the reason."""

from __future__ import annotations

import pytest

from agent.events import DialogAnswered
from agent.execution.task_runner import TaskRunner
from kb_schema import parse_document
from kb_schema.run_records import RunStatus

pytestmark = pytest.mark.sampled(0.4)

OFFICE = """<!doctype html><title>Office</title><h1>Office</h1><p id=said>-</p><script>
const say = (text) => { document.getElementById("said").textContent = text; };
const pick = () => {
  const field = Object.assign(document.createElement("input"), {type: "file"});
  field.onchange = () => say(field.files[0].name);
  field.click();
};
</script>
<button id=alert onclick="alert('Mind the tide'); say('told')">Tide</button>
<button id=confirm onclick="say(confirm('Sink her?') ? 'sunk' : 'afloat')">Sink</button>
<button id=later onclick="fetch('/state').then(() => say(confirm('Later?') ? 'yes' : 'no'))">Later</button>
<button id=prompt onclick="say(prompt('Which berth?'))">Berth</button>
<button id=pick onclick="pick()">Choose a file</button>
<a id=chart href="data:text/csv,berth,depth%0A1,4" download="chart.csv">Chart</a>
<a id=tab href="/quay" target=_blank>Quay</a>
<a id=foreign_tab href="https://elsewhere.example/" target=_blank>Elsewhere</a>
<a id=redirect href="/away">Away</a>"""
SAID = {"name": "said", "after_step": "do", "extraction": {"method": "dom_extraction", "selector": "#said"}}


@pytest.fixture
async def office(session, site):
    """Runs one action in the harbour's office; the result, and what dialogs were told."""
    seen = []

    async def answer(route):
        if route.request.url.endswith("/office"):
            await route.fulfill(body=OFFICE, content_type="text/html")
        elif route.request.url.endswith("/away"):
            there = site.url.replace("127.0.0.1", "localhost")  # the same server, another origin
            await route.fulfill(status=302, headers={"location": f"{there}/quay"})
        elif "elsewhere.example" in route.request.url:
            await route.fulfill(body="<h1>Elsewhere</h1>", content_type="text/html")
        else:
            await route.fallback()

    await session.page.context.route("**/*", answer)
    session.bus.listen(lambda event: seen.append(event) if isinstance(event, DialogAnswered) else None)

    async def run(action, *, outputs=(SAID,), after=(), **step):
        task = {
            "type": "task", "task_id": "in_the_office",
            "io_spec": {"outputs": list(outputs)},
            "steps": [
                {"step_id": "go", "action": {"action_type": "navigate", "url": f"{site.url}/office"}},
                {"step_id": "do", "action": {"action_type": "click", **action}, "repeatable": True, **step},
                *after,
            ],
        }  # fmt: skip
        session.knowledge.know(parse_document(task))
        return await TaskRunner(session).run_task("in_the_office")

    run.session, run.seen, run.url = session, seen, site.url
    return run


@pytest.mark.parametrize(
    ("target", "said", "hint"),
    [
        ("confirm", "asked 'Sink her?' (confirm) and was answered no", "on_dialog"),
        ("prompt", "asked 'Which berth?' (prompt)", "on_dialog"),
        ("chart", "began to download 'chart.csv', which was stopped", "download: NAME"),
        ("tab", "/quay, which was closed", "new_tab: follow"),
        ("foreign_tab", "https://elsewhere.example is not an origin of the website", "new_tab"),
        ("redirect", "the page left the website for http://localhost:", "allowed_origins"),
        ("pick", "asked for a file, and was given none", "upload_file"),
    ],
)
async def test_what_nobody_authored_is_refused_with_the_reason_and_what_to_write(office, target, said, hint):
    result = await office({"target": f"#{target}"}, outputs=())
    assert result.status is RunStatus.NEEDS_PERSON, result.error
    assert said in (result.error or "")
    assert hint in (result.hint or "")
    assert len(office.session.page.context.pages) == 1
    if target == "confirm":
        assert await office.session.page.inner_text("#said") == "afloat"


async def test_dialogs_are_answered_as_authored_and_told_and_an_alert_needs_no_answer(office):
    for target, more, said in (
        ("alert", {}, "told"),
        ("confirm", {"on_dialog": "accept"}, "sunk"),
        ("confirm", {"on_dialog": "dismiss"}, "afloat"),
        ("prompt", {"on_dialog": {"accept": True, "text": "7 O'Brien"}}, "7 O'Brien"),
    ):
        result = await office({"target": f"#{target}", **more})
        assert result.complete, result.error
        assert result.outputs == {"said": said}
    assert [(each.kind, each.accepted) for each in office.seen] == [
        ("alert", True), ("confirm", True), ("confirm", False), ("prompt", True),
    ]  # fmt: skip


async def test_a_question_that_comes_after_the_action_is_refused_as_well(office):
    shows = [{"type": "dom_contains", "value": "no", "selector": "#said"}]  # only once it was answered
    result = await office({"target": "#later"}, outputs=(), postconditions=shows)
    assert result.status is RunStatus.NEEDS_PERSON
    assert "asked 'Later?' (confirm) and was answered no" in (result.error or "")


async def test_downloads_are_kept_tabs_are_followed_and_files_are_given_as_authored(
    office, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        "agent.execution.effects.side_effects.TAB_S", 60.0
    )  # what came is not waited for any longer
    office.session.download_folder = tmp_path / "downloads"
    path = {"name": "chart", "extraction": {"method": "context_reference", "source": "chart"}}
    result = await office({"target": "#chart", "download": "chart"}, outputs=[path])
    assert result.outputs == {"chart": str(tmp_path / "downloads/chart.csv")}, result.error
    assert (tmp_path / "downloads/chart.csv").read_text() == "berth,depth\n1,4"
    given = {"action_type": "upload_file", "target": "#pick", "value": str(tmp_path / "downloads/chart.csv")}
    result = await office(given)
    assert result.outputs == {"said": "chart.csv"}, result.error
    on_quay = {
        "step_id": "there",
        "action": "no_op",
        "postconditions": [{"type": "on_screen", "screen_id": "quay"}],
    }
    result = await office({"target": "#tab", "new_tab": "follow"}, outputs=(), after=[on_quay])
    assert result.complete, result.error
    assert office.session.page.url == f"{office.url}/quay"
    back = {"step_id": "back", "action": "close_tab"}
    sinks = {"action_type": "click", "target": "#confirm", "on_dialog": "accept"}
    after = [on_quay, back, {"step_id": "sink", "action": sinks, "repeatable": True}]
    result = await office(
        {"target": "#tab", "new_tab": "follow"}, outputs=[SAID | {"after_step": "sink"}], after=after
    )
    assert result.outputs == {"said": "sunk"}, result.error
    assert len(office.session.page.context.pages) == 2  # the one that was closed is gone
    result = await office({"target": "#foreign_tab", "new_tab": "close"}, outputs=())
    assert result.complete, result.error


async def test_files_are_given_from_the_one_folder_only_where_there_is_one(office, tmp_path):
    uploads = tmp_path / "files"
    uploads.mkdir()
    (uploads / "logbook.txt").write_text("calm")
    (tmp_path / "passwords.txt").write_text("hunter2")
    office.session.upload_folder = uploads
    given = {"action_type": "upload_file", "target": "#pick"}
    assert (await office({**given, "value": "logbook.txt"})).outputs == {"said": "logbook.txt"}
    for path in (str(tmp_path / "passwords.txt"), "../passwords.txt"):
        result = await office({**given, "value": path})
        assert result.status is RunStatus.NEEDS_PERSON
        assert "is not in the upload folder" in (result.error or "")
        assert await office.session.page.inner_text("#said") == "-"
