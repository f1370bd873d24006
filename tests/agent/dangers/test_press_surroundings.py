"""What a dialog says counts for its buttons in many languages, whatever the buttons are called."""

from __future__ import annotations

import pytest

from agent.dangers.danger_words import (
    find_danger_in_words,
    find_harm_in_words,
    load_danger_words,
    undisguise_text,
)
from agent.dangers.press_surroundings import PressSurroundings, find_harm_around, list_meant_options

ASKING = {
    "de": ("Ihr Konto wird gelöscht.", "Ja", "Abbrechen"),
    "fr": ("Le compte sera supprimé.", "Valider", "Annuler"),
    "es": ("La cuenta será eliminada.", "Aceptar", "Cancelar"),
    "it": ("L'account verrà eliminato", "Continua", "Annulla"),
    "pt": ("A conta será excluída", "Sim", "Voltar"),
    "nl": ("Het account wordt verwijderd", "Doorgaan", "Annuleren"),
    "pl": ("Konto zostanie usunięte", "Tak", "Anuluj"),
    "ru": ("Аккаунт будет удалён", "Продолжить", "Отмена"),
    "zh": ("确定要删除吗", "确定", "取消"),
    "ja": ("アカウントを削除しますか", "はい", "キャンセル"),
    "ko": ("계정을 삭제하시겠습니까?", "확인", "취소"),
    "tr": ("Hesap silinsin mi?", "Evet", "İptal"),
    "sv": ("Ta bort kontot?", "Bekräfta", "Avbryt"),
    "cs": ("Smazat účet?", "Ano", "Zrušit"),
    "ar": ("حذف الحساب؟", "نعم", "إلغاء"),
    "en": ("Removal of 3 vessels. This cannot be undone.", "I understand", "No, keep them"),
}
LONG = (
    "Vessels that are no longer used can be kept in the list of former vessels, where everybody finds them. "
    * 2
)


@pytest.mark.parametrize("language", ASKING)
def test_a_dialog_that_deletes_counts_for_what_agrees_in_its_language(language):
    text, agrees, declines = ASKING[language]
    assert find_harm_around(agrees, PressSurroundings(dialog=text)) is not None
    assert find_harm_around(agrees, PressSurroundings(dialog=LONG + text)) is not None
    assert find_harm_around(declines, PressSurroundings(dialog=text)) is None


@pytest.mark.parametrize("name", ["", "Sounds good", "Let's go", "👍", "Vessels"])
def test_in_a_short_dialog_every_name_counts_that_does_not_decline(name):
    asking = PressSurroundings(dialog="Delete your account?")
    assert find_harm_around(name, asking) is not None
    for declines in ("Cancel", "No", "x", "Keep it", "Close dialog"):
        assert find_harm_around(declines, asking) is None


def test_a_group_that_is_called_as_a_deed_that_deletes_counts_for_what_is_in_it():
    assert find_harm_around("All boats", PressSurroundings(group="Delete")) is not None
    assert find_harm_around("All boats", PressSurroundings(group="Boats\nDelete now")) is not None
    for group in ("Order", "Share", "Boats", "Delete or keep what nobody uses"):
        assert find_harm_around("All boats", PressSurroundings(group=group)) is None, group
    assert find_harm_around("Cancel", PressSurroundings(group="Delete")) is None


def test_code_around_a_control_counts_as_its_own():
    assert find_harm_around("Go on", PressSurroundings(marks="onclick around\tdeleteAll()")) is not None
    assert find_harm_around("Go on", PressSurroundings(marks="onclick around\topenRow()")) is None


def test_the_day_on_which_something_was_done_is_no_deed_of_the_button_beside_it():
    for told in ("Knots. Published: May 01, 2022", "Released: 2026-11-30", "Published: 1.5.2022"):
        assert find_harm_around("Edit Metadata", PressSurroundings(layers=told)) is None, told
    for told in (
        "Published: 3 posts",
        "Deleted: 3 boats",
        "It will be published: May 01, 2022",
        "Publish: May 01, 2022",
    ):
        assert find_harm_around("Edit Metadata", PressSurroundings(layers=told)) is not None, told


ONLY_PRESSED = sorted(
    said
    for phrases in load_danger_words().languages["en"].pressed.values()
    for each in phrases
    if (said := each.strip("^")).isalpha() and find_harm_in_words(f"{said} 3") is not None
    if find_danger_in_words(said, pressed=False) is None
)
"""English words that say a deed of a button, and none of a link."""


@pytest.mark.parametrize("word", ONLY_PRESSED)
def test_a_word_by_which_the_sentence_names_a_thing_is_that_thing_where_it_has_a_number_or_an_article(word):
    for told in (
        f"Details Knots {word.title()} 3 of Skerry Point Language: English",
        f"{word.title()} 17",
        f"Knots \ue006 {word.title()} 2 of",
        f"Where is the {word} kept",
    ):
        dialog = PressSurroundings(dialog=told)
        assert find_harm_around("Add to list", dialog) is not None, told
        assert find_harm_around("Add to list", dialog, {word}) is None, told


@pytest.mark.parametrize("word", ONLY_PRESSED)
def test_such_a_word_is_a_deed_where_it_counts_things_asks_or_is_agreed_to_and_another_deed_stays_one(word):
    def find(name: str, told: str):
        return find_harm_around(name, PressSurroundings(dialog=told), {word})

    assert find("Add to list", f"{word.title()} 3 nights") is not None
    assert find("Add to list", f"{word.title()} 3 of 5 rooms") is not None
    assert find("Add to list", f"You are about to {word} a thing") is not None
    assert find("Add to list", f"You {word} an item") is not None
    assert find("Add to list", f"{word.title()} 17?") is not None
    assert find("OK", f"{word.title()} 17") is not None
    other = "purchase" if word != "purchase" else "donate"
    assert find("Add to list", f"{other.title()} the {word}") is not None
    assert find("Add to list", f"The {word} 17 will be deleted permanently") is not None


@pytest.mark.parametrize("word", ONLY_PRESSED)
def test_a_word_with_an_optional_plural_is_a_thing_in_a_question_that_changes_something(word):
    def find(name: str, told: str):
        return find_harm_around(name, PressSurroundings(dialog=told))

    for told in (
        f"Are you sure you want to change the read status for the selected {word}(s)?",
        f"Please confirm. Do you want to edit 3 {word}(s)?",
        f"Mark {word}(s) as read?",
    ):
        assert find("Ok", told) is None, told
        assert find("Ok", told.replace("(s)", "")) is not None, told
    for told in (
        f"Are you sure you want to confirm the selected {word}(s)?",
        f"Change the status and process the selected {word}(s)?",
        f"Change the status. The selected {word}(s)?",
        f"{word.title()}(s)?",
        f"Change and {word} the selected record(s)?",
        f"Mark {word}(s) as paid?",
        f"Mark the selected {word}(s) as refunded and sent?",
        f"Change the {word}(s) to approved?",
        f"Change the selected {word}(s)? They will be deleted permanently.",
    ):
        assert find("Ok", told) is not None, told


def test_a_word_that_deletes_by_a_link_is_a_deed_also_with_an_optional_plural():
    assert find_harm_around("Ok", PressSurroundings(dialog="Change the delete(s)?")) is not None


def test_a_word_that_deletes_by_a_link_is_a_deed_wherever_it_stands():
    for told in ("Delete 17", "Delete 3 of Skerry Point"):
        assert find_harm_around("Add to list", PressSurroundings(dialog=told), {"delete"}) is not None


READ_SO = [
    "D e l e t e your account?",
    "D.e.l.e.t.e your account?",
    "De\u200bl\u00adete your account?",
    "D\u0435l\u0435t\u0435 your account?",
    "\u0501\u0435l\u0435t\u0435 your account?",
    "\uff24\uff45\uff4c\uff45\uff54\uff45 your account?",
]
"""Spaced out, with invisible characters, with letters of other alphabets, wide."""


@pytest.mark.parametrize("text", READ_SO)
def test_a_word_is_read_as_it_looks(text):
    for where in ("dialog", "layers", "title", "described", "beside"):
        assert find_harm_around("Next", PressSurroundings(**{where: text})) is not None, where
    assert find_danger_in_words(text.split(" your")[0], pressed=True) is not None


@pytest.mark.parametrize(
    "text",
    [
        "\u0423\u0434\u0430\u043b\u0438\u0442\u044c",
        "Διαγραφή",
        "\u0421\u043e\u0440\u0430",
        "kald\u0131r",
        "A / B / C",
        "x y",
    ],
)
def test_words_of_other_alphabets_stay_as_they_are(text):
    assert undisguise_text(text) == text


def test_the_layer_beside_counts_only_if_it_asks():
    assert find_harm_around("Next", PressSurroundings(beside="Deleted vessels")) is None
    assert find_harm_around("Cancel", PressSurroundings(beside="Delete it?")) is None
    assert find_harm_around("Next", PressSurroundings(beside="Delete it?")) is not None


def test_names_in_a_long_text_and_words_that_only_begin_alike_are_no_harm():
    assert (
        find_harm_around("Show list", PressSurroundings(dialog=f"{LONG} Vessels are deleted after a year."))
        is None
    )
    for text in ("An exclusive view", "Add a vessel", "Silence is kept"):
        assert find_harm_around("OK", PressSurroundings(dialog=text)) is None, text


def test_what_is_chosen_in_its_form_is_what_a_press_does():
    chosen = PressSurroundings(method="post", chosen="---\nDelete selected users")
    assert find_harm_around("Go", chosen) == ("deletes", "'Delete selected users' is chosen in its form")
    for words in ("Post\nBook\nOrder", "Deleted\nPublished\nArchived", ""):
        assert find_harm_around("Go", PressSurroundings(chosen=words)) is None, words


@pytest.mark.parametrize(
    "heading", ["Payment of 500 EUR", "Delete account", "Zahlung von 20 EUR", "Konto löschen"]
)
def test_the_heading_of_a_form_counts_for_a_button_that_only_agrees(heading):
    assert find_harm_around("Continue", PressSurroundings(heading=heading)) is not None
    assert find_harm_around("Show a list", PressSurroundings(heading=heading)) is None


@pytest.mark.parametrize(
    "heading", ["Edit post", "Book details", "Order 17", "New issue", "Archive", "Subscribe"]
)
def test_a_heading_that_names_a_thing_is_no_harm(heading):
    assert find_harm_around("Save", PressSurroundings(heading=heading)) is None


def test_a_link_deletes_by_its_address():
    told = find_harm_around("Proceed", PressSurroundings(link="/users/3?delete=all"))
    assert told is not None
    assert told[0] == "deletes"
    assert find_harm_around("Proceed", PressSurroundings(link="/users/3/edit")) is None


def test_a_form_that_asks_for_a_card_pays():
    assert find_harm_around("Next step", PressSurroundings(card="card")) == (
        "pays",
        "its form asks for a card",
    )


def test_an_option_is_meant_by_its_value_and_by_a_part_of_its_label():
    around = PressSurroundings(options="keep\tKeep\nwipe\tDelete all data now")
    for given in ("wipe", "delete all data now", "all data"):
        assert "Delete all data now" in list_meant_options(given, around), given
    assert list_meant_options("keep", around) == ["keep", "Keep"]


@pytest.mark.parametrize(
    "name", ["Transfer funds", "Send money", "Make a payment", "Jetzt überweisen", "Transferir dinero"]
)
def test_words_that_move_money_pay(name):
    assert (find_danger_in_words(name, pressed=True) or ("",))[0] == "pays"


@pytest.mark.parametrize("name", ["Go", "X", "", "OK"])
def test_the_heading_of_a_column_says_what_a_button_does_that_says_nothing(name):
    assert find_harm_around(name, PressSurroundings(column="Delete")) == (
        "deletes",
        "its column is called 'Delete'",
    )
    assert find_harm_around("Show", PressSurroundings(column="Delete")) is None
    assert find_harm_around(name, PressSurroundings(column="Name")) is None


@pytest.mark.parametrize(
    "mark",
    [
        "hx-delete\t/boat/1",
        "data-hx-delete\t/boat/1",
        "data-method\tdelete",
        "hx-post\t/boat/delete",
        "hx-confirm\tDelete it?",
    ],
)
def test_attributes_that_delete_count_whatever_a_button_is_called(mark):
    told = find_harm_around("Continue", PressSurroundings(marks=f"data-id\t3\n{mark}"))
    assert told is not None
    assert told[0] == "deletes"
    assert find_harm_around("Continue", PressSurroundings(marks="hx-get\t/boat/1\ndata-method\tget")) is None


def test_the_address_of_the_way_back_is_none_of_the_press():
    there, back = "data-href\t/fleet/add/1", "data-remove-href\t/fleet/remove/1"
    assert find_harm_around("North fleet", PressSurroundings(marks=f"{there}\n{back}")) is None
    assert find_harm_around("North fleet", PressSurroundings(marks=f"{back}\n{there}")) is None
    for name, marks in (
        ("Ok", f"{there}\n{back}"),
        ("Remove from the fleet", f"{there}\n{back}"),
        ("North fleet", back),
        ("North fleet", f"data-id\t3\n{back}"),
        ("North fleet", "data-href\t/fleet/remove/1\ndata-add-href\t/fleet/add/1"),
        ("North fleet", f"data-remove-url\t/fleet/remove/1\n{there}"),
    ):
        assert find_harm_around(name, PressSurroundings(marks=marks)) is not None, (name, marks)
