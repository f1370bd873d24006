"""What goes with a suite for whoever mends it: what its locators led to, and that it is as it was generated."""

from __future__ import annotations

import pytest

from agent.verification.generation import generate
from agent.verification.generation.generated_files import is_as_generated
from agent.verification.generation.known_elements import FILE, known_element
from kb_schema.fingerprints import Fingerprint
from kb_schema.locator_expressions import LocatorLink, to_source
from tests.agent.verification.generation import shop_plans as shop

KNOWN = Fingerprint(role="button", name="Save", tag="button")


def generated(folder):
    plan = shop.PLANS[0]
    steps = tuple(
        each.model_copy(update={"fingerprint": KNOWN}) if each.expression else each for each in plan.steps
    )
    generate([plan.model_copy(update={"steps": steps})], folder, base_url=shop.BASE)
    return next(each.expression for each in steps if each.expression)


def test_a_locator_of_a_generated_suite_is_known_by_what_it_led_to(tmp_path):
    expression = generated(tmp_path)
    assert known_element(tmp_path, expression) == KNOWN
    assert to_source(expression).split("(")[0] in (tmp_path / FILE).read_text()
    assert known_element(tmp_path, (LocatorLink(method="get_by_label", arguments=("Nowhere",)),)) is None


@pytest.mark.parametrize(
    "broken", ["", "[]", "{not json", '{"page.get_by_label(\\"Nowhere\\")": {"role": 7}}']
)
def test_a_file_that_cannot_be_read_knows_nothing(tmp_path, broken):
    (tmp_path / FILE).write_text(broken)
    assert known_element(tmp_path, (LocatorLink(method="get_by_label", arguments=("Nowhere",)),)) is None
    assert known_element(tmp_path / "nowhere", ()) is None


def test_a_file_is_as_generated_until_somebody_changes_it(tmp_path):
    generated(tmp_path)
    (test,) = tmp_path.glob("test_*.py")
    assert is_as_generated(tmp_path, test.name)
    test.write_text(test.read_text() + "\n# mine\n")
    assert not is_as_generated(tmp_path, test.name)
    assert not is_as_generated(tmp_path, "test_of_nobody.py")
