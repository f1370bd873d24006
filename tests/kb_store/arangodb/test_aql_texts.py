"""Every AQL text parses by a grammar of the language (`aql_grammar.lark`), and slips in them do not (decision 0127)."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from lark import Lark, UnexpectedInput

from kb_store.arangodb import aql

TEXTS = {name: text for name, text in vars(aql).items() if name.isupper()}
SLIPS = {
    "options before prune": (
        "REACHED_BY_ACTION",
        r"  PRUNE (?P<prune>.*)\n  OPTIONS (?P<options>.*)",
        r"  OPTIONS \g<options>\n  PRUNE \g<prune>",
    ),
    "no return": ("PAGE", "RETURN row", ""),
    "an assignment in place of a comparison": ("PAGE", "website_id ==", "website_id ="),
    "a word of the language as a variable": ("GENERATIONS", "COLLECT generation", "COLLECT filter"),
    "a bracket that is not closed": ("WEIGH_TRANSITIONS", r"believed\]\)", "believed)"),
    "a value in place of a collection": ("DROP", "IN @@collection\n$", "IN @collection\n"),
    "an aggregate that is no function": ("REACHED_BY_ACTION", r"MIN\(LENGTH\(path.edges\)\)", "path.edges"),
    "a function that AQL has not": ("BALANCED_PATHS", r"SUM\(", "TOTAL("),
    "a path without its goal": ("FEWEST_PATHS", "TO @goal ", ""),
    "an expression as a limit": ("PAGE", "LIMIT @page", "LIMIT @page + 1"),
    "two operations of SQL": ("FORGET", "FILTER", "WHERE"),
}


@cache
def parser() -> Lark:
    grammar = Path(__file__).with_name("aql_grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, start="query", parser="earley", lexer="dynamic")


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_every_text_is_aql(name):
    parser().parse(TEXTS[name])


@pytest.mark.parametrize("slip", sorted(SLIPS))
def test_a_slip_in_a_text_is_no_aql(slip):
    name, pattern, replacement = SLIPS[slip]
    wrong, made = re.subn(pattern, replacement, TEXTS[name])
    assert made
    with pytest.raises(UnexpectedInput):
        parser().parse(wrong)
