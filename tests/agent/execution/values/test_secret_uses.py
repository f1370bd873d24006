"""A run's secrets stand only in values that are typed into fields, whatever an action calls its parts."""

from __future__ import annotations

import pytest

from agent.errors import StepFailed
from agent.execution.values.secret_uses import check_secret_uses
from agent.redaction import Secrets
from kb_schema.action_calls import ActionCall
from kb_schema.action_types import ACTION_TYPES

VALUES = {
    "password": "Zq7xSecretW9kk",
    "user": "ann",
    "made": "x-Zq7xSecretW9kk",
    "many": {"a": ["Zq7xSecretW9kk"]},
}


def check(**call):
    secrets = Secrets()
    secrets.keep("Zq7xSecretW9kk")
    check_secret_uses(ActionCall.model_validate(call), VALUES, secrets.redact)


@pytest.mark.parametrize("name", ["password", "made", "many.a"])
@pytest.mark.parametrize(
    "call",
    [
        {"action_type": "navigate", "url": "/redirect?to=http://elsewhere.example/{%s}"},
        {"action_type": "of_a_document", "url": "{%s}"},
        {"action_type": "click", "target": "#b", "on_dialog": {"accept": True, "text": "{%s}"}},
        *(
            {"action_type": each.name, "target": "#b", "value": "a {%s}"}
            for each in ACTION_TYPES.values()
            if each.on_page and each.takes_value and not each.types_text
        ),
    ],
)
def test_a_secret_outside_of_a_typed_value_is_refused(call, name):
    filled = {
        key: value.replace("%s", name) if isinstance(value, str) else {**value, "text": f"{{{name}}}"}
        for key, value in call.items()
    }
    with pytest.raises(StepFailed, match=rf"\{{{name}\}} has a secret") as caught:
        check(**filled)
    assert "Zq7" not in str(caught.value)


def test_typed_secrets_and_other_values_are_accepted():
    check(action_type="fill", target="#p", value="{password}")
    check(action_type="type_text", target="#p", value="{password}")
    check(action_type="of_a_document", target="#p", value="{password}")
    check(action_type="navigate", url="/users/{user}/{unknown}")
    check(action_type="press", target="#p", value="{user}")
