"""A drafted task is a success if the application shows what it typed, also when the page is opened again; else it is unverified."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

import pytest

from agent.execution.task_runner import TaskRunner
from kb_schema.run_records import EvidenceLevel, RunStatus
from kb_schema.tasks import DRAFT, Task
from tests.support.small_sites import Answered, Asked, running_site, visiting

if TYPE_CHECKING:
    from playwright.async_api import Browser, Request

TASK = Task.model_validate(
    {
        "task_id": "add_boat",
        "metadata": {DRAFT: "the form on Boats"},
        "io_spec": {"inputs": [{"name": "name"}, {"name": "berth", "required": False}]},
        "steps": [
            {"step_id": f"s{number}", "order": number, "action": call}
            for number, call in enumerate(
                (
                    {"action_type": "navigate", "url": "/add"},
                    {"action_type": "fill", "target": "#name", "value": "{name}"},
                    {"action_type": "fill", "target": "#berth", "value": "{berth}"},
                    {"action_type": "click", "target": "#save"},
                ),
                start=1,
            )
        ],
    }
)
FORM = (
    "<h1>Add a boat</h1><form id=f method=post action=/add><input id=name name=name><input id=berth name=berth><button id=save>Save</button></form>"
    "<script>f.onsubmit = () => { localStorage.kept = `${f.elements.name.value} ${f.elements.berth.value}`; }</script>"
)


def _list(boats: list[str], told: str = "") -> str:
    return f"<h1>Boats</h1><a id=add href=/add>Add</a><p>{told}</p><ul>{''.join(f'<li>{escape(each)}</li>' for each in boats)}</ul>"


def _keeps(boats: list[str]) -> Callable[[Asked], Answered]:
    """Stores the boat, and shows the list."""

    def answer(asked: Asked) -> Answered:
        if asked.method == "GET":
            return Answered(FORM if asked.path == "/add" else _list(boats))
        boats.append(" ".join(asked.form.values()))
        return Answered(location="/boats", status=303)

    return answer


def _repeats(_: list[str]) -> Callable[[Asked], Answered]:
    """Stores nothing, and repeats what was entered in the answer."""
    return lambda asked: Answered(
        FORM if asked.method == "GET" else f"<p>Thank you for {' '.join(asked.form.values())}</p>"
    )


def _ignores(boats: list[str]) -> Callable[[Asked], Answered]:
    """Stores nothing, and shows the list."""

    def answer(asked: Asked) -> Answered:
        if asked.method == "GET":
            return Answered(FORM if asked.path == "/add" else _list(boats))
        return Answered(location="/boats", status=303)

    return answer


def _says_once(boats: list[str]) -> Callable[[Asked], Answered]:
    """Stores nothing, and says once that it did."""
    told: list[str] = []

    def answer(asked: Asked) -> Answered:
        if asked.method == "GET":
            return Answered(FORM if asked.path == "/add" else _list(boats, told.pop() if told else ""))
        told.append(f"{' '.join(asked.form.values())} was added")
        return Answered(location="/boats", status=303)

    return answer


def _leads_to(path: str, page: str) -> Callable[[list[str]], Callable[[Asked], Answered]]:
    """Makes a site that stores no boat, and leads to a page, where `TOLD` is what was entered since."""

    def make(boats: list[str]) -> Callable[[Asked], Answered]:
        told: list[str] = []

        def answer(asked: Asked) -> Answered:
            if asked.path in ("/add", "/kept") and asked.method == "POST":
                told.extend(asked.form.values())
                return Answered(location=path, status=303)
            if asked.path == "/add":
                return Answered(FORM)
            return Answered(_list(boats) + page.replace("TOLD", "</li><li>".join(told)))

        return answer

    return make


REFUSED = _leads_to("/boats", "<h2>Boats that were refused</h2><ul><li>TOLD</li></ul>")
IN_ADDRESS = _leads_to(
    "/boats?failed=Skua%20South%2012",
    "<h2>Boats</h2><ul><li id=s></li></ul><script>s.textContent = new URLSearchParams(location.search).get('failed')</script>",
)
ASKS = _leads_to(
    "/boats?step=2",
    "<h2>Your boat</h2><ul><li>TOLD</li></ul><form method=post action=/boats><button>Confirm</button></form>",
)
KEPT_BY_BROWSER = _leads_to(
    "/boats",
    "<h2>Boats</h2><ul><li id=s></li></ul><script>s.textContent = localStorage.kept || ''</script>",
)
LONGER = _leads_to("/boats", "<h2>Boats</h2><p>TOLD</p>".replace("TOLD", "Skuana South 12345"))


def _announces(message: str) -> Callable[[list[str]], Callable[[Asked], Answered]]:
    """Makes a site that lists what was entered, and announces a message above it: once."""

    def make(boats: list[str]) -> Callable[[Asked], Answered]:
        told: list[str] = []

        def answer(asked: Asked) -> Answered:
            if asked.method == "POST":
                boats.append(" ".join(asked.form.values()))
                told[:] = [f"<p role=alert>{message}</p>"]
                return Answered(location="/boats", status=303)
            return Answered(FORM if asked.path == "/add" else (told.pop() if told else "") + _list(boats))

        return answer

    return make


def _below_settings(message: str, *, stays: bool) -> Callable[[list[str]], Callable[[Asked], Answered]]:
    """Makes a site that stores what was entered in a list below another heading, and tells a message: once, or from then on."""

    def make(kept: list[str]) -> Callable[[Asked], Answered]:
        told: list[str] = []

        def answer(asked: Asked) -> Answered:
            if asked.method == "POST":
                kept.append(" ".join(asked.form.values()))
                told[:] = [message]
                return Answered(location="/settings", status=303)
            if asked.path == "/add":
                return Answered(FORM)
            said = "".join(told if stays else [told.pop()] if told else [])
            return Answered(
                f"<h2>Settings</h2><p>{said}</p><ul>{''.join(f'<li>{each}' for each in kept)}</ul>"
            )

        return answer

    return make


@pytest.mark.parametrize(
    ("makes", "boats", "status"),
    [
        (REFUSED, [], RunStatus.UNVERIFIED),
        (IN_ADDRESS, [], RunStatus.UNVERIFIED),
        (ASKS, [], RunStatus.UNVERIFIED),
        (KEPT_BY_BROWSER, [], RunStatus.UNVERIFIED),
        (LONGER, [], RunStatus.UNVERIFIED),
        (_keeps, [], RunStatus.SUCCESS),
        (_repeats, [], RunStatus.UNVERIFIED),
        (_ignores, [], RunStatus.UNVERIFIED),
        (_ignores, ["Skua North 9"], RunStatus.UNVERIFIED),  # the same name was there before
        (_says_once, [], RunStatus.UNVERIFIED),
        (_announces("The boat was added."), [], RunStatus.SUCCESS),
        (_announces("The boat is not stored"), [], RunStatus.UNVERIFIED),
        (_announces("It could not be stored."), [], RunStatus.UNVERIFIED),
        (_below_settings("Successful creation.", stays=False), [], RunStatus.SUCCESS),
        (_below_settings("Created by Ada", stays=True), [], RunStatus.UNVERIFIED),  # no message of the press
        (_below_settings("It was not saved.", stays=False), [], RunStatus.UNVERIFIED),
        (
            _below_settings("Cookie settings saved", stays=False),
            [],
            RunStatus.UNVERIFIED,
        ),  # of something else
        (_below_settings("Boat was already created by Ada", stays=False), [], RunStatus.UNVERIFIED),
    ],
)
async def test_what_was_typed_must_be_there_when_the_page_is_opened_again(
    browser: Browser, tmp_path: Any, makes: Any, boats: list[str], status: RunStatus
):
    with running_site(makes(boats)) as site:
        async with visiting(browser, site, tmp_path) as session:
            session.knowledge.know(TASK)
            result = await TaskRunner(session).run_task("add_boat", {"name": "Skua", "berth": "South 12"})
    assert (result.status, result.error) == (status, None)
    assert (result.evidence is EvidenceLevel.VERIFIED) is (status is RunStatus.SUCCESS)
    assert len(site.writes) == 1


async def test_a_record_that_was_in_the_list_before_is_no_evidence_though_a_message_repeats_it(
    browser: Browser, tmp_path: Any
):
    """The list was seen on the way, and had the record once; the message makes it two for a moment."""
    calls = ({"action_type": "navigate", "url": "/boats"}, {"action_type": "click", "target": "#add"})
    steps = [
        {"step_id": f"way{number}", "type": "navigation", "action": call} for number, call in enumerate(calls)
    ]
    known = TASK.model_dump(mode="json", by_alias=True)
    known["steps"] = [
        {**each, "order": number} for number, each in enumerate([*steps, *known["steps"][1:]], start=1)
    ]
    with running_site(_says_once(["Skua South 12"])) as site:
        async with visiting(browser, site, tmp_path) as session:
            session.knowledge.know(Task.model_validate(known))
            result = await TaskRunner(session).run_task("add_boat", {"name": "Skua", "berth": "South 12"})
    assert (result.status, result.error) == (RunStatus.UNVERIFIED, None)
    assert len(site.writes) == 1


async def test_what_was_typed_to_find_a_row_shows_nothing_of_what_was_done_with_it(
    browser: Browser, tmp_path: Any
):
    calls = (
        ("navigation", {"action_type": "navigate", "url": "/boats"}),
        ("form_fill", {"action_type": "fill", "target": "#search", "value": "{name}"}),
        ("navigation", {"action_type": "click", "target": "#row"}),
        ("submit", {"action_type": "click", "target": "#remind"}),
    )
    steps = [
        {"step_id": f"s{number}", "order": number, "type": kind, "action": call}
        for number, (kind, call) in enumerate(calls, start=1)
    ]
    task = Task.model_validate(
        {**TASK.model_dump(mode="json", by_alias=True), "task_id": "remind", "steps": steps}
    )
    boat = "<h1>Skua</h1><form method=post action=/boats/1><button id=remind>Remind</button></form>"
    boats = "<input id=search><a id=row href=/boats/1>Open it</a>"

    def answer(asked: Asked) -> Answered:
        if asked.method == "POST":
            return Answered(location="/boats/1", status=303)
        return Answered(boat if asked.path == "/boats/1" else boats)

    with running_site(answer) as site:
        async with visiting(browser, site, tmp_path) as session:
            session.knowledge.know(task)
            result = await TaskRunner(session).run_task("remind", {"name": "Skua"})
    assert (result.status, result.error) == (RunStatus.UNVERIFIED, None)
    assert len(site.writes) == 1


async def test_a_page_that_closes_when_it_was_sent_is_no_failure(browser: Browser, tmp_path: Any):
    """A window for one form closes when that was stored: there is a doubt, or every step was done and nothing shows it."""
    with running_site(_ignores([])) as site:
        async with visiting(browser, site, tmp_path) as session:

            async def close(sent: Request) -> None:
                if sent.method == "POST":
                    await session.page.close()

            session.page.on("requestfinished", close)
            session.knowledge.know(TASK)
            result = await TaskRunner(session).run_task("add_boat", {"name": "Skua", "berth": "South 12"})
    assert result.status in (RunStatus.NEEDS_PERSON, RunStatus.UNVERIFIED)
    assert len(site.writes) == 1


IN_HARBOR = Task.model_validate(
    {
        "task_id": "add_boat",
        "metadata": {DRAFT: "the form on Boats"},
        "io_spec": {"inputs": [{"name": "harbor"}, {"name": "name"}]},
        "steps": [
            {"step_id": f"s{number}", "order": number, "action": call}
            for number, call in enumerate(
                (
                    {"action_type": "navigate", "url": "/harbors/{harbor}/add"},
                    {"action_type": "fill", "target": "#name", "value": "{name}"},
                    {"action_type": "click", "target": "#save"},
                ),
                start=1,
            )
        ],
    }
)


@pytest.mark.parametrize("leads_to", ["/harbors/kiel-north/add", "/harbors/north-kiel/add"])
async def test_a_thing_with_a_longer_name_is_another_one(browser: Browser, tmp_path: Any, leads_to: str):
    def answer(asked: Asked) -> Answered:
        if asked.path.startswith("/harbors/kiel/"):
            return Answered(location=leads_to, status=302)
        return Answered(FORM)

    with running_site(answer) as site:
        async with visiting(browser, site, tmp_path) as session:
            session.knowledge.know(IN_HARBOR)
            result = await TaskRunner(session).run_task("add_boat", {"harbor": "kiel", "name": "Skua"})
    assert (result.status, site.writes) == (RunStatus.FAILURE, [])


@pytest.mark.parametrize(
    ("sends_to", "leads_to", "status"),
    [
        ("/harbors/kiel/boats", "/harbors/kiel/boats", RunStatus.SUCCESS),
        ("/boats", "/boats", RunStatus.SUCCESS),
        ("/harbors/bremen/boats", "/boats", RunStatus.UNVERIFIED),
        ("/boats", "/harbors/bremen/boats", RunStatus.UNVERIFIED),
    ],
)
async def test_what_is_sent_to_another_thing_is_no_success(
    browser: Browser, tmp_path: Any, sends_to: str, leads_to: str, status: RunStatus
):
    boats: list[str] = []

    def answer(asked: Asked) -> Answered:
        if asked.method == "POST":
            boats.append(asked.form["name"])
            return Answered(location=leads_to, status=303)
        form = FORM.replace("<form", f"<form action={sends_to}")
        return Answered(form if asked.path.endswith("/add") else _list(boats))

    with running_site(answer) as site:
        async with visiting(browser, site, tmp_path) as session:
            session.knowledge.know(IN_HARBOR)
            result = await TaskRunner(session).run_task("add_boat", {"harbor": "kiel", "name": "Skua"})
    assert (result.status, boats) == (status, ["Skua"])


@pytest.mark.parametrize("leads_to", ["/harbors/bremen/add", "/add"])
async def test_a_website_that_leads_to_another_thing_than_was_asked_for_is_no_success(
    browser: Browser, tmp_path: Any, leads_to: str
):
    boats: list[str] = []

    def answer(asked: Asked) -> Answered:
        if asked.method == "POST":
            boats.append(asked.form["name"])
            return Answered(location="/boats", status=303)
        if asked.path.startswith("/harbors/kiel"):
            return Answered(location=leads_to, status=302)
        return Answered(FORM if asked.path.endswith("/add") else _list(boats))

    with running_site(answer) as site:
        async with visiting(browser, site, tmp_path) as session:
            session.knowledge.know(IN_HARBOR)
            result = await TaskRunner(session).run_task("add_boat", {"harbor": "kiel", "name": "Skua"})
            if leads_to == "/add":  # nothing tells that it is another thing
                assert result.status is RunStatus.UNVERIFIED
                return
            assert (result.status, site.writes) == (RunStatus.FAILURE, [])
            assert "'bremen' is another thing" in str(result.error)
            kept = await TaskRunner(session).run_task("add_boat", {"harbor": "bremen", "name": "Skua"})
    assert kept.status is RunStatus.SUCCESS
