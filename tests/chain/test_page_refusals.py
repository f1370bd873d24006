"""What the application refuses is no success: the run ends at that step with the page's own words."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING, Any

import pytest

from agent.execution.task_runner import TaskRunner
from kb_schema.run_records import RunResult, RunStatus
from kb_schema.tasks import Task
from tests.support.small_sites import Answered, Asked, RunningSite, running_site, visiting

if TYPE_CHECKING:
    from playwright.async_api import Browser

SAVE = {"action_type": "click", "target": "#save"}
AFTERWARDS = {"action_type": "click", "target": "#next"}


def _task(*, presses: tuple[dict[str, Any], ...] = (SAVE, AFTERWARDS), shows: str | None = None) -> Task:
    calls = (
        {"action_type": "navigate", "url": "/"},
        {"action_type": "fill", "target": "#title", "value": "{title}"},
        *presses,
    )
    steps: list[dict[str, Any]] = [
        {"step_id": f"s{number}", "order": number, "action": call}
        for number, call in enumerate(calls, start=1)
    ]
    if shows is not None:
        steps[2]["postconditions"] = [{"type": "dom_contains", "value": shows}]
    return Task.model_validate(
        {
            "task_id": "add_title",
            "io_spec": {"inputs": [{"name": "title", "required": False}]},
            "steps": steps,
        }
    )


def _form(
    *, around: str = "", beside: str = "", value: str = "", field: str = "", form: str = "method=post action=/add", script: str = ""
) -> str:  # fmt: skip
    return (
        f"<body><h1>Add a title</h1>{around}<form {form}><div class=row><label for=title>Title</label>"
        f"<input id=title name=title value='{escape(value)}' {field}>{beside}</div>"
        "<div class=row><label for=note>Note</label><input id=note name=note></div>"
        "<button id=save>Save</button></form><button id=next onclick=\"fetch('/next', {method: 'POST'})\">Next</button>"
        f"<script>{script}</script></body>"
    )


async def _run(
    browser: Browser, folder: Any, answer: Callable[[Asked], Answered], title: str = "taken", **more: Any
) -> tuple[RunResult, RunningSite]:
    with running_site(answer) as site:
        async with visiting(browser, site, folder) as session:
            session.knowledge.know(_task(**more))
            result = await TaskRunner(session).run_task("add_title", {"title": title})
    return result, site


def _paths(site: RunningSite) -> list[str]:
    return [asked.path for asked in site.writes]


def _saved_at_once(body: str) -> Callable[[Asked], Answered]:
    return lambda asked: Answered(body if asked.method == "GET" else "")


async def test_a_form_answered_with_400_ends_the_run_with_the_words_of_its_banner(browser, tmp_path):
    def answer(asked: Asked) -> Answered:
        if asked.path == "/add":
            banner = "<div class='alert alert-danger' role=alert>The title “taken” exists already.</div>"
            return Answered(_form(around=banner, value="taken"), status=400)
        return Answered(_form())

    result, site = await _run(browser, tmp_path, answer, shows="Title added")
    assert result.status is RunStatus.FAILURE
    assert result.error is not None
    assert result.error.startswith(
        "the application refused step 's3' (HTTP 400: The title “taken” exists already."
    )
    assert _paths(site) == ["/add"]  # pressed once, and nothing after it


async def test_a_form_that_the_browser_does_not_send_quotes_the_field(browser, tmp_path):
    result, site = await _run(browser, tmp_path, lambda _: Answered(_form(field="required")), title="")
    assert result.status is RunStatus.FAILURE
    assert result.error is not None
    assert "refused step 's3' (Title: " in result.error
    assert _paths(site) == []


async def test_a_form_shown_again_with_a_marked_field_quotes_its_message(browser, tmp_path):
    def answer(asked: Asked) -> Answered:
        if asked.path != "/add":
            return Answered(_form())
        beside = "<div class=invalid-feedback>Choose another title.</div>"
        return Answered(_form(value="taken", field="class='form-control is-invalid'", beside=beside))

    result, site = await _run(browser, tmp_path, answer)
    assert result.status is RunStatus.FAILURE
    assert result.error == "the application refused step 's3' (Title: Choose another title.)"
    assert _paths(site) == ["/add"]


@pytest.mark.parametrize("told", ["Edit error: title must be unique", "Max 100"])
async def test_a_form_shown_again_below_an_error_ends_the_run_in_doubt(browser, tmp_path, told):
    def answer(asked: Asked) -> Answered:
        banner = f"<p class=error-message>{told}</p>" if asked.path == "/add" else ""
        return Answered(_form(around=banner))

    result, site = await _run(browser, tmp_path, answer)
    assert result.status is RunStatus.NEEDS_PERSON
    assert result.error is not None
    assert result.error.startswith(
        f"after step 's3' the page shows what may be a refusal ({told}); step 's3' of"
    )
    assert _paths(site) == ["/add"]


async def test_a_notice_above_a_form_that_is_shown_again_leaves_a_doubt(browser, tmp_path):
    def answer(asked: Asked) -> Answered:
        notice = (
            "<div class='alert alert-danger'>Your trial ends in 3 days.</div>" if asked.path == "/add" else ""
        )
        return Answered(_form(around=notice, value="taken" if notice else ""))

    result, _ = await _run(browser, tmp_path, answer)
    assert result.status is RunStatus.NEEDS_PERSON


async def test_a_form_shown_again_with_an_error_and_what_was_entered_was_refused(browser, tmp_path):
    def answer(asked: Asked) -> Answered:
        if asked.path != "/add":
            return Answered(_form())
        return Answered(_form(beside="<p class=error-message>It exists already.</p>", value="taken"))

    result, site = await _run(browser, tmp_path, answer)
    assert result.status is RunStatus.FAILURE
    assert result.error == "the application refused step 's3' (It exists already.)"
    assert _paths(site) == ["/add"]


def _in_label(beside: str, around: str = "", value: str = "") -> str:
    return (
        f"<body><h1>Add a title</h1>{around}<form method=post action=/add><label>Title "
        f"<input id=title name=title value='{value}'></label>{beside}<button id=save>Save</button></form></body>"
    )


STORED = "<div class='alert alert-success'>Changes stored</div>"


@pytest.mark.parametrize(
    ("beside", "around", "refused"),
    [
        ("<span class=error>This title is taken</span>", "", True),
        (
            "<span class=error id=e>No more than 3 characters</span><script>title.setAttribute('aria-describedby', 'e')</script>",
            "",
            True,
        ),
        ("<span class=field-error>Your photo is not verified yet</span>", "", False),
        ("<p class=error>Saved. But the title was used before.</p>", "", False),
        ("<span class=error>Telephone number is not verified yet</span>", "", False),
        ("<span class=error>This title is long</span>", STORED, False),
    ],
)
async def test_an_error_right_beside_a_field_is_a_refusal_if_it_is_one_of_the_field(
    browser, tmp_path, beside, around, refused
):
    def answer(asked: Asked) -> Answered:
        again = asked.path == "/add"
        return Answered(_in_label(beside if again else "", around if again else "", "taken" if again else ""))

    result, _ = await _run(browser, tmp_path, answer)
    assert result.status is (RunStatus.FAILURE if refused else RunStatus.NEEDS_PERSON)
    assert ("the application refused" in (result.error or "")) is refused
    assert ("may or may not have happened" in (result.error or "")) is not refused


SENDS = """document.querySelector('form').addEventListener('submit', async event => {
  event.preventDefault();
  const answer = await fetch('/api/titles', {method: 'POST', body: new FormData(event.target)});
  const told = document.createElement('div');
  told.className = 'toast ' + (answer.ok ? 'toast-success' : 'toast-error');
  told.setAttribute('role', 'alert');
  told.textContent = answer.ok ? 'Title saved.' : 'This title is too plain.';
  document.body.append(told);
});"""


async def test_an_application_in_the_page_that_answers_422_quotes_its_toast(browser, tmp_path):
    def answer(asked: Asked) -> Answered:
        return Answered(_form(script=SENDS), status=422 if asked.path == "/api/titles" else 200)

    result, site = await _run(browser, tmp_path, answer)
    assert result.status is RunStatus.FAILURE
    assert result.error == "the application refused step 's3' (HTTP 422: This title is too plain.)"
    assert _paths(site) == ["/api/titles"]


async def test_the_answer_of_another_host_of_the_website_counts(browser, tmp_path):
    """Many applications send to `api.example.com`: here to another port, which is another origin."""
    with running_site(lambda _: Answered("", status=422)) as api:
        send = f"fetch('{api.base}/titles', {{method: 'POST', mode: 'no-cors', body: 'x'}})"
        script = f"document.forms[0].onsubmit = event => {{ event.preventDefault(); {send}; }}"
        result, site = await _run(browser, tmp_path, lambda _: Answered(_form(script=script)))
        assert [asked.path for asked in api.writes] == ["/titles"]
    assert result.status is RunStatus.FAILURE
    assert result.error is not None
    assert result.error.startswith("the application refused step 's3' (HTTP 422")
    assert _paths(site) == []


@pytest.mark.parametrize(
    ("path", "status", "refused"),
    [("/kind", 400, True), ("/kind", 200, False), ("/kind/validate", 422, False)],
)
async def test_a_choice_that_is_stored_at_once_may_be_refused(browser, tmp_path, path, status, refused):
    """A form that is only tried at each choice refuses what is not complete yet."""

    def answer(asked: Asked) -> Answered:
        if asked.path == path:
            return Answered("", status=status)
        beside = "<select id=kind><option>Book<option>Map</select>"
        script = f"kind.onchange = () => fetch('{path}', {{method: 'POST', body: kind.value}});"
        return Answered(_form(beside=beside, script=script))

    choose = {"action_type": "select_option", "target": "#kind", "value": "Map"}
    result, site = await _run(browser, tmp_path, answer, presses=(choose, AFTERWARDS))
    assert _paths(site) == ([path] if refused else [path, "/next"])
    assert (result.status is RunStatus.FAILURE) is refused
    if refused:
        assert result.error == "the application refused step 's3' (HTTP 400)"


async def test_a_refusal_is_no_success_although_the_page_looks_as_if_it_were(browser, tmp_path):
    eager = """document.querySelector('form').addEventListener('submit', event => {
      event.preventDefault();
      fetch('/api/titles', {method: 'POST'});
      document.querySelector('h1').textContent = 'Title added';
    });"""

    def answer(asked: Asked) -> Answered:
        return Answered(_form(script=eager), status=400 if asked.path == "/api/titles" else 200)

    result, site = await _run(browser, tmp_path, answer, shows="Title added")
    assert result.status is RunStatus.FAILURE
    assert "HTTP 400" in (result.error or "")
    assert _paths(site) == ["/api/titles"]


async def test_a_form_that_a_script_shows_again_a_moment_later_quotes_the_text_beside_its_field(
    browser, tmp_path
):
    """The answer is HTML with status 200; classes with a condition (`group-[.errors]:`) mark nothing."""
    script = """document.querySelector('form').addEventListener('submit', async (event) => {
      event.preventDefault();
      await fetch('/api/titles', {method: 'POST'});
      setTimeout(() => {
        const field = document.querySelector('#title');
        field.setAttribute('aria-invalid', 'true');
        field.insertAdjacentHTML('afterend', '<ul><li>Enter a title that is free.</li></ul>');
      }, 350);
    });"""
    classes = "class='border group-[.errors]:border-red-600 invalid:ring-1'"
    page = _form(form="method=post", field=classes, script=script)
    result, site = await _run(browser, tmp_path, _saved_at_once(page), presses=(SAVE,))
    assert _paths(site) == ["/api/titles"]
    assert result.status is RunStatus.FAILURE
    assert "Title: Enter a title that is free." in (result.error or "")


WARNING = "<div class='warning notice'><a href='#'>close</a> <b>Warning:</b> A title needs two words.</div>"


async def test_a_form_shown_again_below_a_warning_ends_the_run_in_doubt(browser, tmp_path):
    def answer(asked: Asked) -> Answered:
        return Answered(_form(around=WARNING if asked.path == "/add" else "", value="taken"))

    result, site = await _run(browser, tmp_path, answer)
    assert result.status is RunStatus.NEEDS_PERSON
    assert result.error is not None
    assert result.error.startswith(
        "after step 's3' the page shows what may be a refusal (Warning: A title needs two words.); step 's3' of 'add_title' may or may not"
    )
    assert _paths(site) == ["/add"]


async def test_a_warning_after_a_redirect_is_no_refusal(browser, tmp_path):
    stored: list[str] = []

    def answer(asked: Asked) -> Answered:
        if asked.path == "/add":
            stored.append("taken")
            return Answered(location="/")
        return Answered(_form(around=WARNING if stored else ""))

    result, site = await _run(browser, tmp_path, answer)
    assert result.error is None
    assert _paths(site) == ["/add", "/next"]


async def test_a_message_of_success_is_no_refusal(browser, tmp_path):
    def answer(asked: Asked) -> Answered:
        return Answered(_form(script=SENDS))

    result, site = await _run(browser, tmp_path, answer)
    assert result.error is None
    assert _paths(site) == ["/api/titles", "/next"]


async def test_the_same_form_with_an_alert_that_is_no_error_is_no_refusal(browser, tmp_path):
    def answer(asked: Asked) -> Answered:
        flash = "<div class='alert alert-success' role=alert>Settings stored.</div><p role=alert>Until tomorrow.</p>"
        return Answered(_form(around=flash if asked.path == "/add" else "", value="taken"))

    result, site = await _run(browser, tmp_path, answer)
    assert result.error is None
    assert _paths(site) == ["/add", "/next"]


@pytest.mark.parametrize("status", [400, 404, 500])
async def test_measurements_that_fail_in_the_background_are_no_refusal(browser, tmp_path, status):
    measures = """const tell = () => fetch('/stats/page', {method: 'POST', body: 'x'});
    tell();
    document.addEventListener('click', () => { tell(); navigator.sendBeacon('/beacon', 'x'); });
    document.querySelector('form').addEventListener('submit', event => {
      event.preventDefault();
      fetch('/api/titles', {method: 'POST'});
    });"""

    def answer(asked: Asked) -> Answered:
        fails = asked.path in ("/stats/page", "/beacon")
        return Answered(_form(script=measures), status=status if fails else 200)

    result, site = await _run(browser, tmp_path, answer)
    assert result.error is None
    assert {"/api/titles", "/next"} <= set(_paths(site))


async def test_a_form_that_is_emptied_after_it_was_sent_is_no_refusal(browser, tmp_path):
    empties = """document.querySelector('form').addEventListener('submit', async event => {
      event.preventDefault();
      await fetch('/api/titles', {method: 'POST'});
      event.target.reset();
      title.setAttribute('aria-invalid', 'true');
      title.insertAdjacentHTML('afterend', '<span class=error>Title is required</span>');
    });"""
    result, site = await _run(browser, tmp_path, lambda _: Answered(_form(script=empties)))
    assert result.error is None
    assert _paths(site) == ["/api/titles", "/next"]


async def test_a_write_that_is_repeated_after_its_token_was_renewed_is_no_refusal(browser, tmp_path):
    renews = """document.querySelector('form').addEventListener('submit', async event => {
      event.preventDefault();
      const send = () => fetch('/api/titles', {method: 'POST'});
      if ((await send()).status === 401) { await fetch('/api/token', {method: 'POST'}); await send(); }
    });"""
    asked_before: list[str] = []

    def answer(asked: Asked) -> Answered:
        stale = asked.path == "/api/titles" and not asked_before
        asked_before.extend([asked.path] if asked.path == "/api/titles" else [])
        return Answered(_form(script=renews), status=401 if stale else 200)

    result, site = await _run(browser, tmp_path, answer)
    assert result.error is None
    assert _paths(site) == ["/api/titles", "/api/token", "/api/titles", "/next"]


async def test_a_question_before_something_is_deleted_is_no_refusal(browser, tmp_path):
    asks = """save.type = 'button';
    save.addEventListener('click', () => document.body.insertAdjacentHTML('beforeend',
      '<div role=alertdialog class="modal modal-danger">This cannot be undone.'
      + '<button class=btn-danger>Delete</button><button>Keep</button></div>'));"""
    result, site = await _run(browser, tmp_path, lambda _: Answered(_form(script=asks)))
    assert result.error is None
    assert _paths(site) == ["/next"]


@pytest.mark.parametrize(
    "shown",
    [
        "<span class='badge badge-danger'>Cancelled</span>",
        "<td class='ant-tag tag-error'>Rejected</td>",
        "<div role=menu><div role=menuitem class=text-destructive>Delete</div></div>",
        "<span class='balance negative'>-4.20</span>",
        "<p class='negative'>\u22124,20 \u20ac</p>",
        "<b class='negative'>(1 204.50 EUR)</b>",
        "<ul><li class='edge-failed'><a href=/runs/1>wild-stoat</a> Failed</li><li><a href=/runs/2>shy-crab</a> Late</li></ul>",
        "<div class='card p-4 edge-failed'><a href=/runs/1>wild-stoat</a> <i class=badge>Failed</i></div>",
        "<div><p class='card p-4 edge-failed'><a href=/runs/1>stoat</a> Failed</p><p class='card p-4 edge-late'><a href=/runs/2>crab</a></p></div>",
        "<table><tr><td><input></td></tr><tr><td>Bob</td></tr><tr><td class='negative'>owes Bob 3</td></tr></table>",
    ],
)
async def test_a_state_or_control_that_is_red_like_an_error_is_no_refusal(browser, tmp_path, shown):
    cancels = f"""document.querySelector('form').addEventListener('submit', async event => {{
      event.preventDefault();
      await fetch('/api/titles', {{method: 'POST'}});
      document.querySelector('h1').insertAdjacentHTML('afterend', `{shown}`);
    }});"""
    result, site = await _run(browser, tmp_path, lambda _: Answered(_form(script=cancels)))
    assert result.error is None
    assert _paths(site) == ["/api/titles", "/next"]


@pytest.mark.parametrize(
    "shown",
    [
        "<ul class=messages><li class=error>This title is taken: <a href=/titles/7>see it</a></li></ul>",
        "<div class='alert alert-danger'>This title is taken: <a href=/titles/7>see it</a></div><div class=content><a href=/help>Help</a></div>",
        "<ul><li class=error role=alert>This title is taken: <a href=/titles/7>see it</a></li><li><a href=/help>Help</a></li></ul>",
    ],
)
async def test_a_message_that_leads_to_its_cause_is_a_refusal(browser, tmp_path, shown):
    refuses = f"""document.querySelector('form').addEventListener('submit', async event => {{
      event.preventDefault();
      await fetch('/api/titles', {{method: 'POST'}});
      document.querySelector('h1').insertAdjacentHTML('afterend', `{shown}`);
    }});"""
    result, site = await _run(browser, tmp_path, lambda _: Answered(_form(script=refuses)))
    assert result.error is not None
    assert "This title is taken" in result.error
    assert _paths(site) == ["/api/titles"]


async def test_a_button_that_is_disabled_beside_a_complaint_is_refused_and_no_other_one_is_pressed(
    browser, tmp_path
):
    complaint = "<p class=error-message>A title needs two words.</p>"
    form = (
        f"<body><h1>Titles</h1><div><form class=has-error><label>Title <input id=title></label>{complaint}</form>"
        "<button id=save disabled>Save</button></div>"
        "<button class=other onclick=\"fetch('/other', {method: 'POST'})\">Save</button></body>"
    )
    target = {"strategies": [{"type": "css", "value": each} for each in ("#save", ".other")]}
    result, site = await _run(
        browser, tmp_path, lambda _: Answered(form), presses=({"action_type": "click", "target": target},)
    )
    assert result.status is RunStatus.FAILURE
    assert result.error is not None
    assert (
        'because the field "Title" has a value that the form does not accept (A title needs two words.)'
        in result.error
    )
    assert _paths(site) == []
