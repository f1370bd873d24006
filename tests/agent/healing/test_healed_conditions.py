"""Which element CSS in a condition means, and what is said where that was found again."""

from __future__ import annotations

import pytest

from agent.healing.healed_conditions import add_healing_evidence, find_stored_element, list_css_references
from kb_schema.conditions import AllRequiredFieldsFilled, ElementVisible
from kb_schema.fingerprints import Fingerprint
from kb_schema.probes import Verdict, VerdictStatus
from kb_schema.screens import UIElement
from kb_schema.selectors import Selector, css

ELEMENTS = {
    name: UIElement.model_validate({"element_id": name, "type": "button", "selector": selector.to_json()})
    for name, selector in {
        "save": css("#save"),
        "mail": Selector.model_validate({"strategies": [{"type": "label", "name": "Mail"}]}),
        "street": Selector.model_validate({"strategies": [{"type": "label", "name": "Street"}]}),
    }.items()
}
KNOWN = {
    "mail": Fingerprint(
        tag="input", attributes={"id": "m", "name": "mail", "class": "wide", "data-qa": "mail-1"}
    ),
    "street": Fingerprint(tag="input", attributes={"name": "street", "class": "wide"}),
    "save": None,
}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("#save", "save"),
        ("#m", "mail"),
        ("input#m", "mail"),
        ("button#m", None),
        ("[name=street]", "street"),
        ("input[name='mail']", "mail"),
        ('[data-qa="mail-1"]', "mail"),
        (".wide", None),
        ("[class=wide]", None),
        ("form #m", None),
        ("#nobody", None),
    ],
)
def test_css_means_the_one_element_that_says_or_bore_it(text, name):
    assert find_stored_element(text, ELEMENTS, KNOWN) == name


def test_css_that_two_elements_bore_means_neither():
    twins = KNOWN | {"street": Fingerprint(tag="input", attributes={"id": "m"})}
    assert find_stored_element("#m", ELEMENTS, twins) is None


def test_a_verdict_that_rests_on_healing_says_so_and_any_other_stays_as_it_is():
    condition = ElementVisible(type="element_visible", element="#m")
    verdict = Verdict(VerdictStatus.HELD, "#m: 1 visible of 1")
    assert add_healing_evidence(verdict, condition, {}) is verdict
    said = add_healing_evidence(verdict, condition, {"#m": css("#mail")})
    assert said.status is VerdictStatus.HELD
    assert said.evidence.endswith(
        "#m could not be evaluated as it is written; healed: found again by css value='#mail'"
    )


def test_css_is_found_wherever_a_condition_names_elements():
    filled = AllRequiredFieldsFilled(type="all_required_fields_filled", fields=("mail", "#street"))
    assert list_css_references([filled, ElementVisible(type="element_visible", element=".go")]) == {
        "#street",
        ".go",
    }
