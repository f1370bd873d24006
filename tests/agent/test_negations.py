"""Whether a text is denied by what is said beside it."""

from __future__ import annotations

import pytest

from agent.negations import is_denied, is_denied_beside, is_failure, is_negated, list_negations


@pytest.mark.parametrize(
    "said",
    [
        "Not [Saved]",
        "[Saved] as soon as you are online",
        "[Saved] when the fee is paid",
        "[Saved] unless somebody objects",
        "[Saved] \u274c",
        "It was not [Saved]",
        "It wasn't [Saved]",
        "Could not be [Saved]!",
        "[Changes] were not saved",
        "[Saved]: no, not done",
        "[Saved]? No",
        "[Saved] = nicht",
        "Nicht [Gespeichert]",
        "Keine [Daten] gespeichert",
        "No [guardado]",
        "[सहेजा] नहीं गया",
        "NOT [Saved]",
        "NO [ROWS]",
        "[Saved] failed",
        "Failed: [saved] 0 of 3 rows",
        "0/3 rows [saved]",
        "Unable to confirm that it was [saved]",
        "[Save] error",
        "[Speichern] fehlgeschlagen",
        "Es wurde nichts [gespeichert]",
        "[gespeichert]: nein",
        "[Gespeichert]: 0 von 3",
        "[Saved]: failed",
        "[Save]: failed (no connection)",
        "[Save]: error",
        "Failed to [save changes]",
        "Failed while it [saved]",
        "The import failed and [saved] nothing",
        "Failed saving the [changes] that were entered",
        "Failed attempt to have it [saved]",
        "Denied access to [reports]",
        "Failed upload [photo.png]",
        "0 [rows saved]",
        "Zero [changes saved]",
        "0 rows were [saved]",
        "Successfully [imported] 0 rows",
        "[Imported] zero rows",
        "Imported 0 [rows]",
        "Es wurden 0 Zeilen [gespeichert]",
        "[Importiert] 0 Zeilen",
        "It isn\u00b4t [saved]",
        "It wasn`t [saved]",
        "It isn\u02bct [saved]",
        "Rien n\u2019a été [enregistré]",
        "[Les modifications] n'ont pas été enregistrées",
        "Nada [guardado]",
        "Niente [salvato]",
        "Le modifiche non sono state [salvate]",
        "Nic [uloženo]",
        "Niks [opgeslagen]",
        "Nada foi [salvo]",
        "[Saved] (failed)",
        "[Saved] (0 of 3)",
        "Neither [file was uploaded]",
        "Neither the plan nor the [file was uploaded]",
        "Nobody [was notified]",
        "Niemand [wurde benachrichtigt]",
        "Personne n'a été [prévenu]",
        "Weder Name noch Ort [gespeichert]",
        "[Saved]: false",
        "[Saved]: \u2717",
        "\u274c [Saved]",
        "Discarded instead of [saved]",
        "Discarded rather than [saved]",
        "Your changes would have been [saved]",
        "Die Daten wären [gespeichert]",
        "[Saved] changes were lost",
        "[Gespeichert] und verloren",
        "Almost [saved]",
        "Hardly any file was [uploaded]",
        "Presque [enregistré]",
        "[changes saved] locally only",
        "[Saved] only on this device",
        "[Gespeichert] nur lokal",
        "Failed [saved]",
        "[Saved] (not yet)",
        "[Saved]: not really",
        "[Gespeichert] (noch nicht)",
        "[Enregistré] (pas encore)",
        "[Uploaded]: 0 files",
        "[Uploaded]: 0 new files",
        "[Uploaded] (0 files)",
        "[Uploaded]: no files",
        "[Hochgeladen]: 0 Dateien",
        "[Saved], then rolled back",
        "[Saved], but it was reverted",
        "[Saved]. Then rolled back again.",
        "[Saved] - rolled back",
        "[Gespeichert], dann wieder verworfen",
        "Hardly any [file was uploaded]",
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
        "[Login failed]",
        "[3 passed] 1 failed",
        "[Saved] with no failures",
        "[Saved] without error",
        "[Show] error details",
        "Error: [Name is required]",
        "10 of 30 rows [saved]",
        "[Saved], the upload failed",
        "Failed test [saved]",
        "Failed login rule [saved]",
        "The denied senders list was [updated]",
        "Denied senders list [updated]",
        "Error page template [saved]",
        "Version 2.0 [saved]",
        "Rule 0 [saved]",
        "[Saved] 0 seconds ago",
        "[Saved] 0.5 kg",
        "10.0 kg [saved]",
        "[Build finished] 0 errors",
        "0 failed 3 [saved]",
        "0 skipped [3 saved]",
        "[Cart] 0 items",
        "[Unread]: 0",
        "[Gespeichert], nichts weiter zu tun",
        "NIC [saved]",
        "[Enregistré], pas d\u2019erreur",
        "Failure [report saved]",
        "Failed [login rule saved]",
        "The failure report [saved]",
        "Invoice No 12 [saved]",
        "Invoice No [12 saved]",
        "Almost 300 rows [saved]",
        "Draft [saved] instead of discarded",
        "[Saved] (no errors)",
        "[Saved] (0 errors)",
        "[Draft] discarded",
        "[Saved] locally",
        "[Saved] \u00d7",
        "Rejected applicants [exported]",
        "Blocked users [updated]",
        "Failed payment [retried]",
        "Lost password mail [sent]",
        "No problem, [saved]!",
        "Nothing else to do: [all changes saved]",
        "[Draft saved]. It is no longer public.",
        "Do-not-disturb [saved]",
        "Non-profit [saved]",
        "Ticket 0012 [saved]",
        "0 conflicts 3 [saved]",
        "Nobody left, [saved]",
        "Fast upload [saved]",
        "La personne a été [ajoutée]",
        "[Saved] (not encrypted)",
        "[Saved]: not published yet",
        "[Uploaded]: 0 errors",
        "[Uploaded]: no problems",
        "[Uploaded]: 0 seconds ago",
        "[Uploaded]: 3 files, 0 skipped",
        "[Errors]: 0 files",
        "[Saved], but the draft was discarded",
        "[Saved], other changes discarded",
        "[Saved], then sent",
        "[Saved]. Nothing was lost",
        "[Draft] saved, then discarded",
    ],
)
def test_a_text_is_not_denied_by_other_clauses(said):
    assert not is_denied(*_parts(said))


@pytest.mark.parametrize(
    "said",
    [
        "Not | [saved] |",
        "Not | [Saved] |",
        "Not | yet [saved] |",
        "Not yet | [saved] |",
        "It could not be | [saved] |",
        "No | [changes] | saved",
        "Unable to have it | [saved] |",
        "Never | [Saved] |",
        "| [Changes] | were not saved",
        "| [Saved]: | no",
        "| [Saved]? | No",
        "| [सहेजा] | नहीं गया",
    ],
)
def test_a_text_is_denied_by_what_stands_beside_it_on_its_line(said):
    left, own, right = said.split("|")
    assert is_denied_beside(left, *_parts(own.strip()), right)


@pytest.mark.parametrize(
    "said",
    [
        "| [Saved] |",
        "Never expires | [Saved] |",
        "Not started | [Saved] |",
        "No | [Saved] |",
        "Active: No | [State: Saved] |",
        "Active: No | State: [Saved] |",
        "Active No State | [Saved] |",
        "No errors. | [saved] |",
        "Not | Now. [saved] |",
        "| [Saved] | Not published",
        "| [Saved] | Never expires",
        "| [Saved] | No tags",
        "| [Saved] | with no problems",
        "Not | [Not saved] |",
    ],
)
def test_other_texts_beside_a_text_do_not_deny_it(said):
    left, own, right = said.split("|")
    assert not is_denied_beside(left, *_parts(own.strip()), right)


def test_words_of_failures_are_known():
    assert all(map(is_failure, ("Access denied", "Zugriff verweigert", "Server error")))
    assert not is_failure("All products")


def test_words_are_known_by_language():
    assert "nicht" in list_negations("de")
    assert "nicht" not in list_negations("en")
    assert is_negated("It can\u2019t be saved")
    assert not is_negated("It is saved")


def _parts(said):
    before, _, rest = said.partition("[")
    text, _, after = rest.partition("]")
    return before, text, after
