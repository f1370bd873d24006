"""One table for every condition type: the live page and its stored snapshot must agree with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import TypeAdapter

from agent.page import in_page_library
from agent.page.condition_probes import evaluate_conditions
from agent.page.snapshot_capture import take_snapshot
from kb_schema.conditions import Condition, condition_types
from kb_schema.page_snapshots import PageSnapshot
from kb_schema.probes import AcceptedWrite, ProbeFacts, VerdictStatus
from tests.support.pages import SITE, NamedElements, show
from web_pages.stored_pages import evaluate as evaluate_stored

if TYPE_CHECKING:
    from playwright.async_api import Page

HELD, NOT, UNKNOWN = VerdictStatus.HELD, VerdictStatus.NOT_HELD, VerdictStatus.UNKNOWN
CONDITION: TypeAdapter[Condition] = TypeAdapter(Condition)

AGENTS = """<!doctype html><title>Agents | Desk</title>
<style>.gone{display:none} .ghost{visibility:hidden} .shown{visibility:visible}</style>
<h1>Create <b>New</b> Agent</h1>
<p class="note">Cost: 3 &lt; 5,
   really</p>
<p class="gone">Deleted agents</p>
<div class="ghost">Secretly <span class="shown">plainly</span></div>
<ul id="list"><li class="row">Ann</li><li class="row">Bob</li><li class="row gone">Cy</li></ul>
<ul id="empty"></ul>
<button id="save">Save</button><button id="off" disabled>Off</button>
<fieldset disabled><legend><input id="in-legend"></legend><input id="in-fieldset"></fieldset>
<div inert><button id="inert">Inert</button></div>
<img alt="A green spade" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" width=9 height=9>
<input id="hint" placeholder="Search agents">
<div role="status">Agent created</div><div role="alert"></div>
<div id="host">Not slotted</div><details><summary>More</summary>Folded away</details><iframe srcdoc="<p class=framed>Inside the frame</p>"></iframe>
<script>host.attachShadow({mode: 'open'}).innerHTML = '<p class="shadowed">Inside the shadow</p>'</script>
"""
FORM = """<title>Form</title><form>
<label>Name <input id="name" required></label><input id="mail" value="old@x.org">
<input type="checkbox" id="agree" required><textarea id="about"></textarea>
<select id="lang"><option value="en">English<option value="de">German</select>
<input id="bad" aria-invalid="true" value="x"></form><p class="row">one</p>
<script>document.title = 'Filled form'; mail.value = 'new "q" & <x>'; about.value = 'two\\nlines'; lang.value = 'de'</script>"""
FILLED = FORM.replace('aria-invalid="true"', "").replace(
    "</script>", "; document.getElementById('name').value = 'Ann'; agree.checked = true</script>"
)
LOADING = "<title>Slow</title><p>Here</p><img src='/never.png'>"
COUNTER = "<title>T</title><nav>Tickets <b id=count>(13)</b></nav>"
QUIET = "<title>Quiet</title><p>Nothing said</p><div role=status></div>"


@dataclass(frozen=True)
class Case:
    condition: dict[str, Any]
    expected: VerdictStatus
    html: str = AGENTS
    path: str = "/"
    facts: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        told = {key: value for key, value in self.condition.items() if key != "type"}
        return f"{self.condition['type']}-{self.expected}-{str(told)[:60]}"


def case(
    type_: str,
    status: VerdictStatus,
    /,
    *,
    html: str = AGENTS,
    path: str = "/",
    facts: Any = None,
    **given: Any,
) -> Case:
    return Case({"type": type_, **given}, status, html, path, facts or {})


BASES = {"authored_base": "https://desk.example.com", "path_base": SITE}
ROW = {"type": "dom_contains", "value": "Ann"}
NO_ROW = {"type": "dom_contains", "value": "Zoe"}

CASES = [
    # the address
    *(
        each
        for name in ("url_matches", "url_pattern")
        for each in (
            case(name, HELD, pattern="^/agents/\\d+$", path="/agents/12"),
            case(name, NOT, pattern="^/agents/\\d+$", path="/agents/new"),
            case(name, HELD, pattern="^https://desk\\.example\\.com/agents$", path="/agents", facts=BASES),
        )
    ),
    case("url_contains", HELD, value="/agents", path="/agents?page=2"),
    case("url_contains", NOT, value="/app", path="/agents"),
    case("title_contains", HELD, value="Agents"),
    case("title_contains", NOT, value="agents"),
    # what is on the page
    case("dom_contains", HELD, value="Create New Agent"),
    case("dom_contains", HELD, value="New", selector="h1"),
    case("dom_contains", NOT, value="New", selector="h1", exact=True),
    case("dom_contains", HELD, value="Create  New Agent", selector="h1", exact=True),
    case("dom_contains", HELD, value="Cost: 3 < 5, really"),
    case("dom_contains", HELD, value="Cost: 3.0", number_format="1,234"),
    case("dom_contains", HELD, html="<p>Limit $500.00, of 1,200.</p>", value="$500", number_format="1,234.50"),
    case("dom_contains", NOT, html="<p>Limit $500.00</p>", value="$5", number_format="1,234"),
    case("dom_contains", NOT, html="<p>Limit $500.00</p>", value="$500", number_format="1,234"),
    case("dom_contains", NOT, html="<p>Limit 1,500.00</p>", value="500", number_format="1,234.50"),
    case("dom_contains", NOT, value="Cost: 3", number_format="1,234.50"),
    case("dom_contains", HELD, value="plainly"),
    case("dom_contains", HELD, value="A green spade"),
    case("dom_contains", HELD, value="Search agents"),
    case("dom_contains", HELD, value="Inside the shadow", selector=".shadowed"),
    case("dom_contains", HELD, value="Inside the frame"),
    case("dom_contains", NOT, value="create new agent"),
    case("dom_contains", NOT, value="Deleted agents"),
    case("dom_contains", NOT, value="Secretly"),
    case("dom_contains", NOT, value="Folded away"),
    case("dom_contains", NOT, value="Not slotted"),
    case("dom_contains", NOT, value="Ann", selector="h1"),
    case("dom_contains", UNKNOWN, value="Ann", selector="h1["),
    case("dom_element", HELD, selector="li.row:has-text('ann')"),
    case("dom_element", HELD, selector="#list", text_contains="Bob"),
    case("dom_element", NOT, selector="#list", text_contains="Cy"),
    case("dom_element", NOT, selector="#empty li"),
    case("dom_element", UNKNOWN, selector="li:nonsense"),
    case("element_visible", HELD, element="#save"),
    case("element_visible", HELD, element=".shadowed"),
    case("element_visible", HELD, element=".framed"),
    case("element_visible", NOT, element="p.gone"),
    *(
        each
        for name in ("element_hidden", "element_disappears", "element_absent", "empty_collection")
        for each in (
            case(name, HELD, element="#empty > li"),
            case(name, HELD, element=".ghost"),
            case(name, NOT, element="#list > li"),
        )
    ),
    case("element_enabled", HELD, element="#save"),
    case("element_enabled", HELD, element="#in-legend"),
    case("element_enabled", NOT, element="#off"),
    case("element_enabled", NOT, element="#in-fieldset"),
    case("element_enabled", NOT, element="#inert"),
    case("element_enabled", NOT, element="#nowhere"),
    case("element_count", HELD, element=".row", min=2, max=2),
    case("element_count", NOT, element=".row", min=3),
    case("field_filled", HELD, element="#mail", html=FORM),
    case("field_filled", HELD, element="#about", html=FORM),
    case("field_filled", HELD, element="#agree", html=FILLED),
    case("field_filled", NOT, element="#name", html=FORM),
    case("field_filled", NOT, element="#agree", html=FORM),
    case("field_filled", NOT, element="#nowhere", html=FORM),
    case("field_filled", UNKNOWN, element=".row", html=FORM),
    case("field_has_value", HELD, element="#mail", value='new "q" & <x>', html=FORM),
    case("field_has_value", HELD, element="#about", value="two\nlines", html=FORM),
    case("field_has_value", HELD, element="#lang", value="de", html=FORM),
    case("field_has_value", HELD, element="#agree", value=False, html=FORM),
    case("field_has_value", NOT, element="#mail", value="old@x.org", html=FORM),
    case("all_required_fields_filled", HELD, html=FILLED),
    case("all_required_fields_filled", HELD, fields=["#mail"], html=FORM),
    case("all_required_fields_filled", NOT, html=FORM),
    case("all_required_fields_filled", NOT, fields=["#mail", "#name"], html=FORM),
    case("form_valid", HELD, html=FILLED),
    case("form_valid", NOT, html=FORM),
    *(
        each
        for name in ("shows_banner", "shows_success_message", "confirmation_message", "shows_message")
        for each in (
            case(name, HELD, text_contains="created"),
            case(name, HELD),
            case(name, HELD, text_contains="Create", selector="h1"),
            case(name, NOT, text_contains="Save"),
            case(name, NOT, html=QUIET),
        )
    ),
    case("page_loaded", HELD),
    case("page_loaded", NOT, html=LOADING),
    # where one is
    *(
        each
        for name in ("on_screen", "navigates_to", "screen_reached", "screen_match")
        for each in (
            case(name, HELD, screen_id="agents", facts={"screen_id": "agents", "screen_known": True}),
            case(name, NOT, screen_id="agents", facts={"screen_id": None, "screen_known": True}),
            case(name, UNKNOWN, screen_id="agents"),
        )
    ),
    case("screen_transition", HELD, to="agents", success_indicators=[ROW],
         facts={"screen_id": "agents", "screen_known": True}),
    case("screen_transition", NOT, to="agents", success_indicators=[NO_ROW],
         facts={"screen_id": "agents", "screen_known": True}),
    case("authenticated", HELD),
    case("authenticated", NOT, html=QUIET),
    case("authenticated", HELD, html=QUIET, expected=False),
    case("authenticated", HELD, html=QUIET, facts={"known": {"authenticated": True}}),
    # what has happened since
    *(
        each
        for name in ("dom_mutation", "network_idle", "url_change")
        for each in (
            case(name, HELD, facts={"fired": {f"{name}:": True}}),
            case(name, NOT, facts={"fired": {f"{name}:": False}}),
            case(name, UNKNOWN),
        )
    ),
    case("number_changed", HELD, selector="#count", by=1, html=COUNTER, facts={"numbers": {"#count": 12}}),
    case("number_changed", NOT, selector="#count", by=1, html=COUNTER, facts={"numbers": {"#count": 13}}),
    case("number_changed", NOT, selector="#none", by=1, html=COUNTER, facts={"numbers": {"#none": 12}}),
    case("number_changed", UNKNOWN, selector="#count", by=1, html=COUNTER),
    case("write_accepted", HELD, method="PUT", pattern="/api/agents/[^/?#]+$",
         facts={"accepted": [AcceptedWrite("PUT", f"{SITE}/api/agents/7", 200)]}),
    case("write_accepted", NOT, method="PUT", pattern="/api/agents/[^/?#]+$", count=2,
         facts={"accepted": [AcceptedWrite("PUT", f"{SITE}/api/agents/7", 200)]}),
    case("write_accepted", NOT, method="POST", pattern="/agents", redirect=True,
         facts={"accepted": [AcceptedWrite("POST", f"{SITE}/agents", 200)]}),
    case("write_accepted", HELD, method="POST", pattern="/agents", redirect=True,
         facts={"accepted": [AcceptedWrite("POST", f"{SITE}/agents", 302)]}),
    case("write_accepted", NOT, method="POST", pattern="/agents", facts={"accepted": []}),
    case("write_accepted", UNKNOWN, method="POST", pattern="/agents"),
    case("max_iterations_reached", HELD, max_iterations=3, facts={"iteration": 3}),
    case("max_iterations_reached", NOT, max_iterations=3, facts={"iteration": 2}),
    # the presentation
    case("time_constraint", HELD, remaining_time=60, facts={"remaining_seconds": 30.0}),
    case("time_constraint", NOT, remaining_time=60, facts={"remaining_seconds": 90.0}),
    case("user_interest", HELD, topic="pricing", facts={"context": {"user_interest": ["pricing"]}}),
    case("user_interest", NOT, topic="pricing", facts={"context": {"user_interest": ["voices"]}}),
    # context and combinations
    case("context_equals", HELD, name="plan", value="pro", facts={"context": {"plan": "pro"}}),
    case("context_equals", NOT, name="plan", value="pro", facts={"context": {"plan": "free"}}),
    case("all_of", HELD, conditions=[ROW, {"type": "page_loaded"}]),
    case("all_of", NOT, conditions=[ROW, NO_ROW]),
    case("any_of", HELD, conditions=[NO_ROW, ROW]),
    case("any_of", NOT, conditions=[NO_ROW]),
    case("none_of", HELD, conditions=[NO_ROW]),
    case("none_of", NOT, conditions=[NO_ROW, ROW]),
    case("judged", HELD, statement="it thanks", judged_by="model", facts={"known": {"judged:it thanks": True}}),
    case("judged", NOT, statement="it thanks", judged_by="model", facts={"known": {"judged:it thanks": False}}),
    case("judged", UNKNOWN, statement="it thanks", judged_by="model"),
    case("custom_condition", HELD, condition=ROW),
    case("custom_condition", NOT, condition=NO_ROW),
]  # fmt: skip

SCOPE = NamedElements(
    signed_in_when=(CONDITION.validate_python({"type": "element_visible", "element": "#save"}),)
)


@pytest.fixture(scope="module")
async def open_page(browser):
    """Opens a page of the table; the same one twice is opened once."""
    context = await browser.new_context()
    await in_page_library.install(context)
    opened: dict[tuple[str, str], Page] = {}

    async def open_once(html: str, path: str) -> Page:
        if (html, path) not in opened:
            opened[html, path] = await context.new_page()
            await show(opened[html, path], html, path)
        return opened[html, path]

    yield open_once
    await context.close()


@pytest.mark.parametrize("each", CASES, ids=str)
async def test_live_page_and_its_snapshot_agree_with_the_table(open_page, each: Case):
    page = await open_page(each.html, each.path)
    condition = CONDITION.validate_python(each.condition)
    facts = ProbeFacts(**each.facts)

    ([live], _) = await evaluate_conditions(page, [condition], SCOPE, facts)
    snapshot = await take_snapshot(page)
    [stored] = evaluate_stored(snapshot, [condition], SCOPE, facts)

    assert (live.status, stored.status) == (each.expected, each.expected), (live.evidence, stored.evidence)


@pytest.mark.parametrize("name", sorted(condition_types()))
def test_every_condition_type_has_a_case_that_holds_and_one_that_does_not(name):
    covered = {each.expected for each in CASES if each.condition["type"] == name}
    assert {HELD, NOT} <= covered


async def test_all_conditions_of_a_page_cost_one_round_trip(page, monkeypatch):
    await show(page, AGENTS)
    calls = []
    evaluate_in_page = page.evaluate

    async def counted(*args):
        calls.append(args)
        return await evaluate_in_page(*args)

    monkeypatch.setattr(page, "evaluate", counted)
    conditions = [CONDITION.validate_python(each.condition) for each in CASES]
    verdicts, _ = await evaluate_conditions(page, conditions, SCOPE)
    assert len(verdicts) == len(CASES)
    assert len(calls) == 1


FOREIGN = """<html><head><title>Foreign</title><style>.x{display:none}</style></head><body>
<h1>Billing</h1><p hidden>Hidden one</p><div style="color:red; display : none"><p>Hidden two</p></div>
<p style="visibility:hidden">Hidden three</p><script>var a = 'Hidden four'</script><template>Hidden five</template>
<noscript>Hidden six</noscript><input type=hidden id=token value=t><input id=who value="Ann" required>
<select id=plan><option>Free<option selected>Pro</select><details><summary>More</summary>Hidden seven</details>
<a href="#" class="x y">Help</a><input type=checkbox id=box checked><input type=submit><table><tr><td>a<td>b</table>"""
FOREIGN_CASES = [
    case("dom_contains", HELD, value="Billing"),
    *(
        case("dom_contains", NOT, value=f"Hidden {n}")
        for n in ("one", "two", "three", "four", "five", "six", "seven")
    ),
    case("dom_contains", HELD, value="Pro"),
    case("dom_contains", NOT, value="Free"),
    case("dom_contains", HELD, value="a b"),
    case("dom_contains", HELD, value="Submit"),
    case("element_visible", HELD, element="a.x.y"),
    case("element_hidden", HELD, element="#token"),
    case("field_has_value", HELD, element="#who", value="Ann"),
    case("field_has_value", HELD, element="#plan", value="Pro"),
    case("field_filled", HELD, element="#box"),
    case("dom_element", HELD, selector="input:checked"),
    case("form_valid", HELD),
    case("page_loaded", UNKNOWN),
]


@pytest.mark.parametrize("each", FOREIGN_CASES, ids=str)
def test_foreign_html_is_judged_from_its_markup(each: Case):
    snapshot = PageSnapshot(url=f"{SITE}/x", title="Foreign", html=FOREIGN)
    [verdict] = evaluate_stored(snapshot, [CONDITION.validate_python(each.condition)], SCOPE)
    assert verdict.status is each.expected, verdict.evidence


@pytest.mark.parametrize(
    "each",
    [
        case("dom_contains", HELD, value="Billing overview"),
        case("dom_contains", NOT, value="Agents"),
        case("dom_contains", UNKNOWN, value="Billing", selector="h1"),
        case("element_visible", UNKNOWN, element="h1"),
        case("element_hidden", UNKNOWN, element="h1"),
        case("url_contains", HELD, value="/x"),
    ],
    ids=str,
)
def test_a_client_with_text_only_gets_what_text_can_answer(each: Case):
    snapshot = PageSnapshot(url=f"{SITE}/x", text="heading Billing \n overview")
    [verdict] = evaluate_stored(snapshot, [CONDITION.validate_python(each.condition)], SCOPE)
    assert verdict.status is each.expected, verdict.evidence
