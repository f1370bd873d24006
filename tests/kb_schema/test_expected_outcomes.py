"""The vocabulary of expected outcomes and the placeholders of values: read, refused, written back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb_schema.expected_outcomes import (
    OUTCOMES,
    OutcomeKind,
    OutcomesUnreadable,
    canonical,
    element_and_region,
    parse_outcomes,
    register,
    render_outcome,
)
from kb_schema.placeholders import (
    LiteralPart,
    PlaceholderInvalid,
    SecretMissing,
    SecretPart,
    UniquePart,
    fill,
    is_open,
    parts,
    secret_names,
)
from kb_schema.verification import ExpectedOutcome


def read(text):
    return [(each.kind, each.element, each.region, each.value) for each in parse_outcomes(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("field_populated", ("field_populated", None, None, None)),
        ("Field populated", ("field_populated", None, None, None)),
        ("navigates_to:Products", ("navigates_to", None, None, "Products")),
        ("Navigates to: My agents", ("navigates_to", None, None, "My agents")),
        ("url:/agent?page=2&x=a@b", ("url", None, None, "/agent?page=2&x=a@b")),
        ("shows:a = b @ c: d", ("shows", None, None, "a = b @ c: d")),
        ('shows:"one; two"', ("shows", None, None, "one; two")),
        ("shows:“one” two", ("shows", None, None, "“one” two")),
        ('shows:"say ""yes"""', ("shows", None, None, 'say "yes"')),
        ('shows:He said "yes"', ("shows", None, None, 'He said "yes"')),
        ("toast", ("message", None, None, None)),
        ("toast: Saved.", ("message", None, None, "Saved.")),
        ("checked:Terms", ("checked", "Terms", None, None)),
        ("disabled:Save@Login form", ("disabled", "Save", "Login form", None)),
        ('hidden:"a@b"@"x = y"', ("hidden", "a@b", "x = y", None)),
        ("visible:ada@example.com@Contacts", ("visible", "ada@example.com", "Contacts", None)),
        ("field_value:ada@example.com", ("field_value", None, None, "ada@example.com")),
        ("field_value:Email=ada@example.com", ("field_value", "Email", None, "ada@example.com")),
        ('field_value:"a=b"', ("field_value", None, None, "a=b")),
        ("count:Row@Agents=3", ("count", "Row", "Agents", "3")),
        ("count:3", ("count", None, None, "3")),
        ("text:People to reach@Summary=1,240", ("text", "People to reach", "Summary", "1,240")),
        ("invalid", ("invalid", None, None, None)),
        ("error:Expiry date", ("invalid", "Expiry date", None, None)),
        ("invalid:Name=Enter a name", ("invalid", "Name", None, "Enter a name")),
        ("invalid:=Enter a name", ("invalid", None, None, "Enter a name")),
        ("selected", ("selected", None, None, None)),
        ("selected:Germany", ("selected", None, None, "Germany")),
        ("selected:Country=Germany", ("selected", "Country", None, "Germany")),
        ("dialog_opens:Delete agent?", ("dialog_opens", None, None, "Delete agent?")),
    ],
)  # fmt: skip
def test_an_outcome_is_read_as_it_is_written(text, expected):
    assert read(text) == [expected]


def test_several_outcomes_are_separated_by_semicolons_or_lines_and_keep_what_they_said():
    found = parse_outcomes(' field_populated ; shows:"a; b"\r\n\n navigates to: Agents;; ')
    assert [each.said for each in found] == ["field_populated", 'shows:"a; b"', "navigates to: Agents"]
    assert parse_outcomes(" ;\n ") == ()


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("field_populted", "unknown expected outcome 'field_populted'", 'did you mean "field_populated"?'),
        ("navigate:Home", "unknown expected outcome 'navigate'", 'did you mean "navigate_to"?'),
        ("The agent is saved", "is not an expected outcome", "shows:The agent is saved"),
        ("it is saved", "is not an expected outcome", "message:it is saved"),
        ("shows", "shows needs a value", "shows:TEXT"),
        ("title: ", "title needs a value", "title:TEXT"),
        ("stays_on_page:Agents", "takes no value", "write stays_on_page"),
        ("count:Row=many", "expected a number, found 'many'", "count:Element=3"),
        ("field_value:Email=", "the value after `=` is missing", "field_value:Element=TEXT"),
        ("checked:", "an element has no name", "Element@Region"),
        ("checked:Terms@", "the region after 'Terms@' is missing", "Terms@Region"),
        ('shows:"open', "never closed", "close it"),
        ('shows:"a" b', "continues after a closing quotation mark", "quote all of it"),
        ("visible:{secret:X}@Form", "a secret in an element's name", "what people see"),
        ("shows:{secret}", "'{secret}' is not a placeholder", "{secret:NAME}"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_with_its_fix_and_never_guessed(text, message, fix):
    with pytest.raises(OutcomesUnreadable) as told:
        parse_outcomes(text)
    (problem,) = told.value.problems
    assert message in problem.message
    assert fix in problem.fix


def test_every_unreadable_outcome_is_told_at_once():
    with pytest.raises(OutcomesUnreadable) as told:
        parse_outcomes("cheked; visible:Save; it works fine\nshows")
    assert [each.said for each in told.value.problems] == ["cheked", "it works fine", "shows"]


def test_a_name_is_registered_once():
    with pytest.raises(ValueError, match="'toast' is taken by 'message'"):
        register(OutcomeKind("toast", "A second one", "page"))
    assert "toast" not in OUTCOMES


def test_every_name_and_alias_leads_to_one_kind():
    for kind in OUTCOMES.values():
        assert {canonical(name) for name in (kind.name, *kind.aliases)} == {kind.name}
        assert kind.bare == "value" or kind.about == "element"


@pytest.mark.parametrize("words", ["", " ", "@Form", "Save@", '"Save', '"Save" now'])
def test_words_that_name_no_element_are_refused(words):
    with pytest.raises(ValueError, match="->"):
        element_and_region(words)


def test_an_element_may_have_a_region_and_quotes():
    assert element_and_region("Save@LoginForm") == ("Save", "LoginForm")
    assert element_and_region("Save; close@A; b") == ("Save; close", "A; b")
    assert element_and_region(" Save ") == ("Save", None)
    assert element_and_region('"a@b"') == ("a@b", None)
    assert element_and_region('Save@"Sign in @ work"') == ("Save", "Sign in @ work")


def test_a_quoted_region_may_have_separators_also_behind_a_plain_element():
    (read,) = parse_outcomes('count:Row@"a; b"=3')
    assert (read.element, read.region, read.value) == ("Row", "a; b", "3")


words = st.text(st.characters(exclude_characters="\r", exclude_categories=("Cs",)), min_size=1).filter(
    lambda text: text.strip() and "{" not in text
)


@st.composite
def outcomes(draw):
    kind = draw(st.sampled_from(sorted(OUTCOMES.values(), key=lambda each: each.name)))
    value = st.integers(0, 999).map(str) if kind.name == "count" else words
    given = draw({"never": st.none(), "may": st.none() | value, "must": value}[kind.value])
    element = draw(st.none() | words) if kind.about == "element" else None
    if kind.bare == "value" and given is None:
        element = None
    region = draw(st.none() | words) if element else None
    return ExpectedOutcome(kind=kind.name, said="", element=element, region=region, value=given)


@given(st.lists(outcomes(), min_size=1, max_size=4), st.sampled_from([";", "\n", " ; "]))
def test_what_is_written_is_read_back_for_any_outcome(expected, separator):
    found = parse_outcomes(separator.join(render_outcome(each) for each in expected))
    assert [each.model_copy(update={"said": ""}) for each in found] == expected


@given(st.text())
def test_any_text_is_read_or_refused_with_problems_that_have_fixes(text):
    problems = ()
    try:
        parse_outcomes(text)
    except OutcomesUnreadable as exc:
        problems = exc.problems
    assert all(each.fix and each.message for each in problems)


def test_a_text_is_its_parts():
    assert parts("a{secret:PASS_1}{unique}b") == (
        LiteralPart("a"),
        SecretPart("PASS_1"),
        UniquePart(),
        LiteralPart("b"),
    )
    assert parts('{"json": {"x": 1}} {other}') == (LiteralPart('{"json": {"x": 1}} {other}'),)
    assert parts("") == ()


@pytest.mark.parametrize(
    "text", ["{secret}", "{secret:}", "{secret: X}", "{Unique}", "{unique:3}", "{secret:a-b}"]
)
def test_what_only_looks_like_a_placeholder_is_told(text):
    with pytest.raises(PlaceholderInvalid, match="secret:NAME"):
        parts(f"x {text} y")


def test_a_text_is_filled_and_a_secret_without_value_is_named():
    assert fill("{unique}-{secret:A}", secrets={"A": "{unique}"}, unique="k7") == "k7-{unique}"
    with pytest.raises(SecretMissing, match="environment variable B"):
        fill("{secret:B}", secrets={}, unique="k7")
    assert secret_names("{secret:B}", None, "{secret:A}{secret:B}") == ("B", "A")
    assert [is_open(each) for each in ("a", None, "", "{unique}", "{other}")] == [
        False,
        False,
        False,
        True,
        False,
    ]
