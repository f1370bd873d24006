"""What the description of an input says of its values."""

from __future__ import annotations

import pytest

from agent.sentences.value_texts import TaskInput, ValueText
from kb_schema.io_specs import InputSpec


@pytest.mark.parametrize(
    ("name", "description", "options"),
    [
        ("theme", "light or dark", ("light", "dark")),
        ("theme", "one of light, dark", ("light", "dark")),
        ("url_title_or_error_text", "URL, title or error text", ()),
        ("name_or_e_mail_address_of_the", "Name or e-mail address of the member", ()),
        ("name", "Name", ()),
    ],
)
def test_a_label_with_or_lists_no_values(name, description, options) -> None:
    one = TaskInput(spec=InputSpec(name=name, description=description, source="user_input"))
    assert one.options == options
    assert (one.accept(ValueText(text="hacker", kind="quoted")) is None) is bool(options)
