"""Whether a text is denied by what is said beside it."""

from __future__ import annotations

import pytest

from agent.negations import is_denied, is_negated, list_negations


@pytest.mark.parametrize(
    "said",
    [
        "Not [Saved]",
        "It was not [Saved]",
        "It wasn't [Saved]",
        "Could not be [Saved]!",
        "[Changes] were not saved",
        "[Saved]: no, not done",
        "[Saved]? No",
        "[Saved] = nein".replace("nein", "nicht"),
        "Nicht [Gespeichert]",
        "Keine [Daten] gespeichert",
        "No [guardado]",
        "[सहेजा] नहीं गया",
        "NOT [Saved]",
        "NO [ROWS]",
    ],
)
def test_a_text_is_denied_by_its_clause(said):
    assert is_denied(*_parts(said))


@pytest.mark.parametrize(
    "said",
    [
        "[Saved]",
        "[Saved] with no problems",
        "[Saved] without errors",
        "[Saved], not published yet",
        "No errors. [Saved]",
        "[Not Saved]",
        "[Saved].  You cannot undo it",
        "[It will stop at once.] This cannot be undone.",
        "NO [Oslo]",
        "[Saved] - Close",
        "Note: [Saved]",
        "[Nothing was saved]",
    ],
)
def test_a_text_is_not_denied_by_other_clauses(said):
    assert not is_denied(*_parts(said))


def test_words_are_known_by_language():
    assert "nicht" in list_negations("de")
    assert "nicht" not in list_negations("en")
    assert is_negated("It can\u2019t be saved")
    assert not is_negated("It is saved")


def _parts(said):
    before, _, rest = said.partition("[")
    text, _, after = rest.partition("]")
    return before, text, after
