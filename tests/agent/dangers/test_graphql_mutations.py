"""What a GraphQL document changes, whatever its operations are called and wherever they stand."""

from __future__ import annotations

import pytest

from agent.dangers.graphql_mutations import list_mutated_fields


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("mutation{deleteBoat(id:1){id}}", ["deleteBoat"]),
        ("mutation M($a: Boat = {deleteBoat: 1}) @d(x: {y: 1}) { ok: removeBoat(id: $a) { dropBoat } rename }",
         ["M", "removeBoat", "rename"]),
        ("query Q { boat } mutation { a } mutation B { b }", ["B", "b", "a"]),
        ("fragment F on Mutation { deleteBoat } mutation { ...F ...G } fragment G on Mutation { ...F rename }",
         ["deleteBoat", "rename"]),
        ("mutation { a { b { ...F } } } fragment F on B { drop(id: 1) { ...G } rename } fragment G on C { y(z: 1) x ...F }",
         ["a", "drop", "y"]),
        ("mutation { a { ... on B { drop(id: 1) } ... { ...F } } ...F } fragment F on B { c }", ["a", "drop", "c"]),
        ("mutation { ... on Mutation @include(if: true) { a { x } } ... { b } ... @skip(if: false) { c } }", ["a", "b", "c"]),
        ('# mutation { no }\nmutation { a(text: """ } mutation { no } """, b: "}{") }', ["a"]),
        ("mutation { a", ["a"]),
        ("query deleteBoat { deleteBoat } subscription { mutation }", []),
        ("mutation delete of genes", []),
        ("{" * 100_000 + "mutation", []),
        ("mutation " + "{a" * 100_000, ["a"]),
    ],
)  # fmt: skip
def test_the_outermost_fields_of_mutations_are_named(text: str, fields: list[str]) -> None:
    assert sorted(list_mutated_fields(text)) == sorted(fields)
