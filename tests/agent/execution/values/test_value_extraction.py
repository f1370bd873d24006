"""Values go onto pages and come off them unharmed, whatever they are: every strategy, field, table, URL."""

from __future__ import annotations

import html

import pytest
from pydantic import TypeAdapter

from agent.errors import StepFailed
from agent.execution.call_templates import bind_call, fill_call, fill_condition, fill_templates
from agent.execution.values.input_resolution import MISSING
from agent.execution.values.value_extraction import extract_value
from agent.page.condition_probes import evaluate_conditions
from agent.page.live_selectors import fill_selector_parameters, resolve_selector
from agent.page.page_actions import perform_action
from agent.redaction import Secrets
from agent.session import ElementScope
from kb_schema.action_calls import ActionCall
from kb_schema.action_documents import Action
from kb_schema.conditions import Condition
from kb_schema.io_specs import Extraction
from kb_schema.probes import ProbeFacts
from kb_schema.selectors import Selector

HARD = 'O\'Brien "Bob" </script> {x} {{y}} ünï 你好'
RULE = TypeAdapter(Extraction)
ASKED = TypeAdapter(Condition)


def _row(name, number):
    said = html.escape(name)
    return (
        f'<tr class=row data-name="{said}" id="r{number}"><td class=n>{said}</td>'
        f'<td><a href="/x/{number}" title="{said}" style="text-transform: uppercase">Go {number}</a></td>'
        f'<td><input value="{said}"></td><td hidden>no</td></tr>'
    )


def _page(name):
    said = html.escape(name)
    return f"""<!doctype html><meta charset=utf-8><title>x</title>
    <label>{said}<input class=labelled></label><label>other<input></label>
    <input class=placed placeholder="{said}"><button class=role>{said}</button><button>another</button>
    <p class=aria aria-label="{said}">p</p><p class=qa data-qa="{said}">p</p><p class=testid data-testid="{said}">p</p>
    <p class=id id="{said}">p</p><p class=text>see {said} there</p><textarea class=area></textarea>
    <select class=choice><option>none</option><option value="{said}">{said}</option></select>
    <table>{_row("decoy", 0)}{_row(name, 1)}{_row(name.upper(), 2)}</table>
    <p class=empty style="height: 9px"></p><img class=icon alt="{said}" width=9 height=9><p class=both>a<img alt=b width=9 height=9>c</p>
    <div id=host></div><script>
      document.getElementById("host").attachShadow({{mode: "open"}}).innerHTML = '<p class=deep data-at="s">in shadow</p>';
    </script>"""


STRATEGIES = {
    "labelled": {"type": "label", "name": HARD},
    "placed": {"type": "placeholder", "name": HARD},
    "role": {"type": "role_name", "role": "button", "name": HARD, "exact": True},
    "aria": {"type": "aria", "value": HARD},
    "qa": {"type": "data-qa", "value": HARD},
    "testid": {"type": "data-testid", "value": HARD},
    "id": {"type": "id", "value": HARD},
    "semantic": {"type": "semantic", "label_contains": HARD, "field_type": "text"},
    "css": {"type": "parameterized_css", "template": "tr[data-name='{{name}}'] td.n", "parameters": ["name"]},
    "has-text": {"type": "parameterized", "template": "p.text:has-text('{{name}}')", "parameters": ["name"]},
    "xpath": {"type": "parameterized_xpath", "template": "//td[.='{{name}}']", "parameters": ["name"]},
}
LEADS_TO = {"semantic": "labelled", "css": "n", "has-text": "text", "xpath": "n"}


@pytest.fixture
async def page(equipped_page):
    await equipped_page.set_content(_page(HARD))
    return equipped_page


async def test_every_strategy_finds_the_one_element_that_a_hard_value_names(page):
    for name, strategy in STRATEGIES.items():
        selector = Selector.model_validate({"strategies": [strategy]})
        if selector.parameterized:
            selector = fill_selector_parameters(selector, {"name": HARD})
        found = await resolve_selector(page, selector)
        assert found.resolved, (name, found)
        if name != "id":  # that one's description is its id
            assert f".{LEADS_TO.get(name, name)}" in (found.description or ""), (name, found)


async def test_every_kind_of_field_takes_a_hard_value_as_it_is(page):
    for action, target in (
        ("fill", ".labelled"),
        ("fill", ".area"),
        ("append_text", ".placed"),
        ("select_option", ".choice"),
    ):
        await perform_action(page, action, selector=Selector.model_validate(target), value=HARD)
        assert await page.input_value(target) == HARD


async def _read(page, rule, values=None, elements=None):
    known = {name: Selector.model_validate(each) for name, each in (elements or {}).items()}
    return await extract_value(RULE.validate_python(rule), page, values or {}, known, redact=str)


async def test_every_extraction_gives_hard_values_as_they_are(page):
    dom = {"method": "dom_extraction"}
    label = {"strategies": [STRATEGIES["labelled"]]}
    row = {"strategies": [STRATEGIES["css"]]}
    await page.fill(".labelled", f"  {HARD}  ")
    assert await _read(page, {**dom, "selector": "#r1 .n"}) == HARD
    assert await _read(page, {**dom, "selector": "#r1 input"}) == HARD
    assert await _read(page, {**dom, "selector": "#r1 a", "attribute": "title"}) == HARD
    assert await _read(page, {**dom, "selector": "#r1 a"}) == "Go 1", "as it was written, not as it is drawn"
    assert await _read(page, {**dom, "selector": "field"}, elements={"field": label}) == f"  {HARD}  "
    assert await _read(page, {**dom, "selector": "cell"}, {"name": HARD}, {"cell": row}) == HARD
    assert (
        await _read(page, {**dom, "selector": "field", "attribute": "class"}, elements={"field": label})
        == "labelled"
    )
    assert await _read(page, {**dom, "selector": "tr[data-name='{name}'] .n"}, {"name": HARD}) == HARD
    assert await _read(page, {**dom, "selector": ".text", "pattern": "see (.*) there"}) == HARD
    assert await _read(page, {**dom, "selector": ".deep", "attribute": "data-at"}) == "s"
    assert await _read(page, {**dom, "selector": "img.icon"}) == HARD
    assert await _read(page, {**dom, "selector": ".both"}) == "a c"
    assert await _read(page, {"method": "context_reference", "source": "inputs.name"}, {"name": HARD}) == HARD


async def test_a_table_is_read_whole(page):
    rule = {
        "method": "table_extraction", "selector": "tr.row",
        "columns": {
            "name": "td.n", "held": "input", "id": {"selector": "a", "attribute": "href", "pattern": "/x/(.*)"},
            "of_row": ":scope@data-name", "none": ".nothing", "no_match": {"selector": "a", "pattern": "z+"},
        },
    }  # fmt: skip
    rows = await _read(page, rule)
    assert [row["name"] for row in rows] == ["decoy", HARD, HARD.upper()]
    assert rows[1] == {"name": HARD, "held": HARD, "id": "1", "of_row": HARD, "none": None, "no_match": None}
    only = {**rule, "selector": "tr[data-name='{name}']"}
    assert [row["id"] for row in await _read(page, only, {"name": HARD})] == ["1"]
    assert await _read(page, only, {"name": "nobody"}) == []


async def test_what_says_nothing_leaves_it_to_the_fallback_and_is_kept_where_that_says_nothing_either(page):
    dom = {"method": "dom_extraction"}
    there = {**dom, "selector": "#r1 .n"}
    nothing = {**dom, "selector": ".nothing"}
    assert (
        await _read(page, {**dom, "selector": ".empty", "fallback": {**nothing, "fallback": there}}) == HARD
    )
    assert await _read(page, {**dom, "selector": ".empty", "fallback": nothing}) == ""
    assert (
        await _read(page, {**nothing, "fallback": {**dom, "selector": ".text", "pattern": "z+"}}) is MISSING
    )
    table = {"method": "table_extraction", "selector": ".none", "columns": {"a": "b"}}
    assert await _read(page, {**table, "fallback": {**table, "selector": "tr.row", "columns": {"a": ".n"}}})
    assert await _read(page, table) == []


async def test_an_output_is_read_from_the_address_also_where_the_page_does_not_show_it(page):
    await page.route(
        "http://site.test/**", lambda route: route.fulfill(body="<p>x</p>", content_type="text/html")
    )
    await page.goto("http://site.test/agent/agt-7/edit")
    of_address = {"method": "url_parsing", "pattern": "/agent/([^/]+)"}
    assert await _read(page, of_address) == "agt-7"
    shown = {"method": "dom_extraction", "selector": ".none", "attribute": "data-agent-id"}
    assert await _read(page, {**shown, "fallback": of_address}) == "agt-7"
    assert await _read(page, {**of_address, "pattern": "/campaign/([^/]+)"}) is MISSING


async def test_what_an_address_says_is_read_as_it_was_meant(page):
    await page.route(
        "http://site.test/**", lambda route: route.fulfill(body="<p>x</p>", content_type="text/html")
    )
    call = fill_call(ActionCall(action_type="navigate", url="/find/{name}?q={name}"), {"name": HARD})
    await perform_action(page, "navigate", url=f"http://site.test{call.url}")
    said = await page.evaluate(
        "[new URL(location).searchParams.get('q'), decodeURIComponent(location.pathname)]"
    )
    assert said == [HARD, f"/find/{HARD}"]
    here = ProbeFacts(path_base="http://site.test")
    for condition in (
        {"type": "url_contains", "value": "q={name}"},
        {"type": "url_contains", "value": "/find/{name}?"},
        {"type": "url_matches", "pattern": "^/find/{name}\\?q={name}$"},
    ):
        stated = fill_condition(ASKED.validate_python(condition), {"name": HARD})
        ([verdict], _) = await evaluate_conditions(page, [stated], ElementScope({}, ()), here)
        assert verdict.held, verdict.evidence
        other = fill_condition(ASKED.validate_python(condition), {"name": HARD + "!"})
        ([verdict], _) = await evaluate_conditions(page, [other], ElementScope({}, ()), here)
        assert not verdict.held


@pytest.mark.parametrize("value", ["#delete-all", "button, a", "tr.row:nth-child(1)", "[x]", "a.b", 7, ["x"]])
def test_data_may_name_an_element_but_never_be_a_selector(value):
    with pytest.raises(StepFailed, match="expected an element id"):
        fill_call(ActionCall(action_type="click", target="{x}"), {"x": value})
    with pytest.raises(StepFailed):
        fill_templates({"element_selector": "{x}"}, {"x": value})
    assert (
        fill_call(ActionCall(action_type="click", target="{x}"), {"x": "save_button"}).target == "save_button"
    )


@pytest.mark.parametrize("value", ["..", "."])
def test_a_value_cannot_climb_out_of_its_place_in_an_address(value):
    with pytest.raises(StepFailed, match="step of the path"):
        fill_call(ActionCall(action_type="navigate", url="/agent/{x}/edit"), {"x": value})
    assert (
        fill_call(ActionCall(action_type="navigate", url="/find?q={x}"), {"x": value}).url
        == f"/find?q={value}"
    )


def test_an_action_document_is_given_targets_by_knowledge_and_never_by_data():
    document = Action.model_validate(
        {"action_id": "open", "name": "O", "parameters": {"menu": {}, "item": {"default": "li:first-child"}},
         "execution_steps": [{"step": 1, "action": "click", "target": "{menu}"},
                             {"step": 2, "action": "click", "target": "{item}"},
                             {"step": 3, "action": "click", "target": "{element_selector}"}]}
    )  # fmt: skip

    def targets(call, values):
        bound = {**values, **bind_call(document, fill_call(call, values), call)}
        return [fill_call(step, bound).target for step in document.execution_steps]

    call = ActionCall(action_type="open", target="#go", parameters={"menu": "nav > a"})
    assert targets(call, {}) == ["nav > a", "li:first-child", "#go"]
    by_data = ActionCall(action_type="open", target="#go", parameters={"menu": "{said}"})
    assert targets(by_data, {"said": "main_menu"})[0] == "main_menu"
    with pytest.raises(StepFailed, match="expected an element id"):
        targets(by_data, {"said": "nav > a"})


def test_an_action_document_without_a_required_parameter_names_it():
    parameters = {"text": {"required": True}, "note": {"required": False}}
    document = Action.model_validate({"action_id": "type_it", "name": "T", "parameters": parameters})
    call = ActionCall(action_type="type_it", parameters={"note": "x"})
    with pytest.raises(StepFailed, match="'type_it' requires the parameter 'text'"):
        bind_call(document, call, call)
    given = ActionCall(action_type="type_it", text="Tern")
    assert bind_call(document, given, given) == {"text": "Tern", "note": ""}


async def test_a_value_is_read_by_xpath_and_the_name_of_its_row_cannot_change_what_is_read(page):
    await page.set_content(_page(HARD))
    rule = RULE.validate_python(
        {"method": "dom_extraction", "selector": "//tr[td[1][normalize-space()='{name}']]//a"}
    )
    assert await extract_value(rule, page, {"name": HARD}, {}, redact=str) == "Go 1"
    assert await extract_value(rule, page, {"name": "x'] or '1'='1"}, {}, redact=str) is MISSING


@pytest.mark.parametrize(
    ("kind", "said", "bound"),
    [
        ("boolean", "false", False),
        ("boolean", True, True),
        ("number", "12.5", 12.5),
        ("integer", 3, 3),
        ("array", "a, b", ["a", "b"]),
        ("object", '{"x": 1}', {"x": 1}),
        ("string", "7", "7"),
    ],
)
def test_a_parameter_of_an_action_has_the_type_that_it_declares(kind, said, bound):
    document = Action.model_validate({"action_id": "a", "name": "A", "parameters": {"p": {"type": kind}}})
    call = ActionCall(action_type="a", parameters={"p": said})
    assert bind_call(document, call, call)["p"] == bound


@pytest.mark.parametrize(
    ("kind", "said"),
    [("boolean", "maybe"), ("number", "many"), ("integer", 2.5), ("integer", True), ("array", 4), ("object", "[]")],
)  # fmt: skip
def test_a_parameter_of_another_type_is_refused_with_action_name_and_type(kind, said):
    document = Action.model_validate({"action_id": "a", "name": "A", "parameters": {"p": {"type": kind}}})
    call = ActionCall(action_type="a", parameters={"p": said})
    with pytest.raises(StepFailed, match=f"action 'a', parameter 'p': expected {kind}, found"):
        bind_call(document, call, call)


async def test_a_pattern_cuts_no_part_out_of_a_secret(page):
    secrets = Secrets()
    secrets.keep("Zq7xSecretW9kk")
    await page.set_content("<input id=p value=Zq7xSecretW9kk><p id=q>Order 12 of Zq7xSecretW9kk</p>")
    field = {"method": "dom_extraction", "selector": "#p", "pattern": "^(.{6})"}
    table = {
        "method": "table_extraction",
        "selector": "body",
        "columns": {"a": {"selector": "#p", "pattern": "(...)kk$"}},
    }
    order = {"method": "dom_extraction", "selector": "#q", "pattern": "Order ([0-9]+)"}

    async def got(rule):
        return await extract_value(RULE.validate_python(rule), page, {}, {}, redact=secrets.redact)

    assert await got(field) is MISSING
    assert await got(table) == [{"a": None}]
    assert await got(order) == "12"
