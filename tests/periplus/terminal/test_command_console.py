"""A page's texts reach the terminal as texts: they cannot set its title, its clipboard or its colours."""

from __future__ import annotations

import io

import pytest
from rich.json import JSON
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from periplus.errors import UserError, report_error
from periplus.terminal.command_console import CommandConsole

HOSTILE = "\x1b]0;owned\x07\x1b]52;c;cm0gLXJm\x07\x1b[2J\x9b31m\u202egnp.exe\x08\x7fend"


def _table(text):
    table = Table("a", title=escape(text))
    table.add_row(escape(text))
    return table


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize(
    "shown",
    [
        escape,
        _table,
        lambda text: Panel(escape(text)),
        lambda text: JSON.from_data({"said": text}, ensure_ascii=False),
    ],
)
def test_what_a_page_says_does_not_control_the_terminal(terminal, shown):
    console = CommandConsole(file=io.StringIO(), force_terminal=terminal, color_system=None, width=300)
    console.print(shown(HOSTILE))
    told = console.file.getvalue()
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\x08", "\x7f"} & set(told)
    assert "\\x1b" in told or "\\u001b" in told, "it is shown what was there"
    assert "gnp.exe" in told


def test_an_error_with_a_pages_words_does_not(capsys):
    console = CommandConsole(file=io.StringIO(), force_terminal=True, width=300)
    report_error(UserError(f"the page says {HOSTILE}", fix=HOSTILE), console)
    told = console.file.getvalue()
    for order in ("\x1b]", "\x1b[2J", "\x07", "\x9b"):
        assert order not in told


def test_lines_tabs_and_the_styles_of_our_own_stay():
    console = CommandConsole(file=io.StringIO(), force_terminal=True, color_system="standard", width=40)
    console.print("[red]one[/]\n\ttwo عربى")
    assert console.file.getvalue() == "\x1b[31mone\x1b[0m\n        two عربى\n"
