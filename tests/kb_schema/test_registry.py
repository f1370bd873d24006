"""Tables of named entries."""

from __future__ import annotations

import pytest

from kb_schema.registry import Registry


def test_an_entry_is_registered_under_its_names_or_its_own():
    table = Registry("action")

    @table.register("click", "tap")
    def press():
        return "pressed"

    @table.register()
    def fill():
        return "filled"

    assert list(table) == ["click", "tap", "fill"]
    assert (table["tap"](), table["fill"]()) == ("pressed", "filled")
    assert "hover" not in table


def test_a_name_is_taken_once():
    table = Registry("action")
    table.register("click")(len)
    with pytest.raises(ValueError, match="two entries are registered for the action 'click'"):
        table.register("click")(max)
    assert table["click"] is len


def test_an_unknown_name_is_reported_with_the_known_ones():
    table = Registry("action")
    table.register("fill", "click")(len)
    with pytest.raises(KeyError, match="no action 'hover' is registered; known: click, fill"):
        table["hover"]
    assert table.get("hover") is None
