"""What a dialog says counts for its buttons in many languages, whatever the buttons are called."""

from __future__ import annotations

import pytest

from agent.dangers.press_surroundings import PressSurroundings, find_harm_around

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


def test_names_in_a_long_text_and_words_that_only_begin_alike_are_no_harm():
    assert (
        find_harm_around("Show list", PressSurroundings(dialog=f"{LONG} Vessels are deleted after a year."))
        is None
    )
    for text in ("An exclusive view", "Add a vessel", "Silence is kept"):
        assert find_harm_around("OK", PressSurroundings(dialog=text)) is None, text
