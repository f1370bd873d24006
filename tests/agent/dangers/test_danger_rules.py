"""What is judged dangerous, and what only looks so: controls in several languages, links, forms, requests."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from agent.dangers.danger_addresses import find_danger_in_address
from agent.dangers.danger_rules import FormFacts, judge_offer, judge_request
from agent.dangers.danger_words import find_danger_in_words, load_danger_words
from kb_schema.explorations import Danger, Offer
from kb_schema.fingerprints import Fingerprint


def button(name: str, **given: Any) -> Offer:
    return Offer(offer_id="o", action_type="click", role="button", tag="button", name=name, **given)


def link(name: str, href: str = "/somewhere", **given: Any) -> Offer:
    return Offer(offer_id="o", action_type="click", role="link", tag="a", name=name, href=href, **given)


def classed(offer: Offer, css_class: str) -> Offer:
    return offer.model_copy(update={"fingerprint": Fingerprint(attributes={"class": css_class})})


POST = FormFacts("POST", "/save")
GET = FormFacts("GET", "/search")

DANGEROUS_BUTTONS: dict[str, list[str]] = {
    "deletes": [
        "Delete", "Delete message: Hello", "Remove from cart", "Remove", "Yes, delete it", "Move to trash", "🗑",
        "Unsubscribe", "Cancel subscription", "Archive", "Leave group", "Discard changes", "Clear all", "Reset",
        "Löschen", "Konto löschen", "Eintrag entfernen", "Abo kündigen", "Bestellung stornieren",
        "Supprimer", "Supprimer le compte", "Vider le panier", "Résilier", "Se désabonner",
        "Eliminar", "Borrar cuenta", "Quitar", "Darse de baja", "Elimina", "Excluir conta", "Verwijderen",
        "d\u200belete", "\uff44elete", "DELETE",
    ],
    "signs_out": [
        "Log out", "Logout", "Sign out", "Sign Out", "Log off", "Abmelden", "Ausloggen", "Déconnexion",
        "Se déconnecter", "Cerrar sesión", "Salir", "Uitloggen", "Esci",
    ],
    "pays": [
        "Pay", "Pay now", "Buy", "Buy now", "Place order", "Add to cart", "Order", "Checkout", "Donate", "Subscribe",
        "Jetzt kaufen", "Kostenpflichtig bestellen", "In den Warenkorb", "Jetzt bezahlen",
        "Acheter", "Ajouter au panier", "Passer la commande", "Commander", "Comprar ahora", "Añadir al carrito", "Pagar",
    ],
    "sends": [
        "Send", "Send message", "Publish", "Launch now", "Launch Campaign", "Reply", "Invite people", "Post",
        "Senden", "Nachricht absenden", "Veröffentlichen", "Envoyer", "Publier", "Enviar", "Publicar",
    ],
    "submits": [
        "Submit", "Save", "Save changes", "Confirm", "Yes", "Approve", "Import", "Speichern", "Bestätigen",
        "Enregistrer", "Valider", "Guardar", "Confirmar", "Activate", "Follow",
    ],
    "uploads": ["Upload", "Upload file", "Hochladen", "Subir archivo"],
}  # fmt: skip

HARMLESS_BUTTONS = [
    "Order by date", "Sort order", "Remove filter", "Remove filter status: Live", "Clear filters", "Clear search",
    "Reset filters", "Cancel", "Close", "Next", "Back", "New", "Create", "Add", "Add filter", "Edit", "Menu", "Search",
    "Deleted items", "Sent", "Orders", "Payments", "Delivery", "Send date", "Posts", "Archived", "Published", "Saved",
    "Show more", "More options", "Not yet", "Keep agent", "Decline", "Dismiss", "Sign in", "Import history",
    "Filter entfernen", "Alle Filter löschen", "Suche zurücksetzen", "Bestellungen", "Gelöschte", "Abbrechen", "Weiter",
    "Supprimer le filtre", "Effacer la recherche", "Annuler", "Suivant", "Commandes", "Date d'envoi",
    "Quitar filtro", "Borrar búsqueda", "Cancelar", "Pedidos", "Siguiente", "Fecha de envío", "",
]  # fmt: skip

HARMLESS_LINKS = [
    ("Submit a ticket", "/tickets/new"), ("Send a message", "/messages/new"), ("Import contacts", "/contacts/import"),
    ("Payments", "/payments"), ("Pay", "/billing"), ("Delivery", "/delivery"), ("Order by date", "/list?order=date"),
    ("Send date", "/list?sort=send_date"), ("Orders", "/orders"), ("Order 17", "/order/17"), ("Post", "/post/17"),
    ("Archive", "/archive"), ("May 2024", "/archive/2024/05"), ("How to delete files", "/blog/how-to-delete-your-files"),
    ("Checkout", "/checkout"), ("Save the date", "/events/4"), ("Upload", "/files/upload"), ("Clear", "/agent"),
    ("Remove filter", "/list?status="), ("Change password", "/password_change/"), ("Add", "/groups/add/"),
    ("History", "/groups/3/history/"), ("Forgot password?", "/forgot-password"), ("Deleted", "/items?state=deleted"),
    ("Style", "/static/delete.css"), ("Edit", "/agent/3/edit"), ("Suche", "/suche?q=delete"), ("Start", "/start"),
    ("Next", "/calendar?month=13"), ("Commander par date", "/liste?tri=date"), ("Enviar", "/mensajes/nuevo"),
    ("Nachricht senden", "/nachrichten/neu"), ("Reset password", "/password/reset"), ("Sign up", "/signup"), ("Publish date", "/list?o=3"), ("Remove from sorting", "/list?o="),
    ("Home", "/admin/cms/block/3/change/"), ("Vote 5", "/admin/polls/vote/5/change/"), ("Read", "/books/3/read"),
    ("Print", "/tickets/4/?print"), ("x", "/tickets/4?json"), ("x", "/tickets?mine"), ("x", "/tickets/4?raw=1"), ("x", "/wiki/4?Edit"), ("Takeaways", "/x"),
]  # fmt: skip

DANGEROUS_LINKS: list[tuple[Danger, str, str]] = [
    ("deletes", "Delete", "/items/3"), ("deletes", "More", "/items/3/delete"), ("deletes", "More", "/items/3/delete?now"),
    ("deletes", "x", "/delete-item/3"), ("deletes", "x", "/deleteItem?id=3"), ("deletes", "x", "/items/delete.php?id=3"),
    ("deletes", "x", "/items?action=delete&id=3"), ("deletes", "x", "/items?delete=3"), ("deletes", "x", "/do_delete/3"),
    ("deletes", "x", "/items/3/%64elete"), ("deletes", "x", "/items/3/%2564elete"), ("deletes", "x", "/#/items/3/delete"),
    ("deletes", "Remove from cart", "/cart"), ("deletes", "x", "/artikel/3/löschen"), ("deletes", "x", "/posts/3/archive"),
    ("deletes", "Unsubscribe", "/newsletter"), ("deletes", "Supprimer", "/articles/3/x"),
    ("signs_out", "Log out", "/x"), ("signs_out", "Bye", "/logout"), ("signs_out", "Bye", "/users/sign_out"),
    ("signs_out", "Bye", "/account?logout"), ("signs_out", "Abmelden", "/x"), ("signs_out", "Bye", "/session/logout.do"),
    ("pays", "Buy now", "/p/3"), ("pays", "x", "/shop?add-to-cart=3"), ("pays", "x", "/invoices/3/pay"),
    ("pays", "x", "/buy/3"), ("sends", "x", "/posts/3/publish"), ("sends", "Publish", "/x"), ("sends", "Mail", "mailto:a@b.example"),
    ("submits", "x", "/users/3/activate"), ("submits", "x", "/approve/3"), ("submits", "Approve", "/x"),
    ("unknown_method", "x", "/posts/3?_wpnonce=a1b2"), ("unknown_method", "x", "/x?csrf_token=1"),
    ("unknown_method", "x", "/x?_method=put"), ("unknown_method", "\uf256 Grab", "/tickets/4/?grab"),
    ("unknown_method", "x", "/tickets/AB-4?untag"), ("submits", "\uf256 Take", "/x"), ("submits", "Assign this ticket to Ada", "/x"), ("submits", "x", "/tickets/4/take/"), ("leaves", "Call", "tel:555"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("danger", "name"), [(d, name) for d, names in DANGEROUS_BUTTONS.items() for name in names]
)
def test_a_button_called_so_is_not_pressed(danger: str, name: str):
    verdict = judge_offer(button(name))
    assert verdict.danger == danger
    assert verdict.why
    assert not verdict.may


@pytest.mark.parametrize("name", HARMLESS_BUTTONS)
def test_a_button_called_so_may_be_pressed(name: str):
    assert judge_offer(button(name)).danger is None


@pytest.mark.parametrize(("name", "href"), HARMLESS_LINKS)
def test_a_link_of_that_name_and_address_may_be_followed(name: str, href: str):
    assert judge_offer(link(name, href)).danger is None
    assert judge_request("GET", f"http://site.example{href}").may


@pytest.mark.parametrize(("danger", "name", "href"), DANGEROUS_LINKS)
def test_a_link_of_that_name_or_address_is_not_followed(danger: Danger, name: str, href: str):
    assert judge_offer(link(name, href)).danger == danger


@pytest.mark.parametrize("name", ["Go", "Continue", "OK", "Weiter", "", "Search"])
def test_whatever_it_is_called_a_button_that_posts_a_form_is_not_pressed(name: str):
    assert judge_offer(button(name), POST).danger == "submits"
    assert judge_offer(button(name, form="POST /save")).danger == "submits"
    assert judge_offer(button(name), FormFacts("GET", "/x", override="put")).danger == "submits"


@pytest.mark.parametrize("name", ["Search", "Go", "Apply", "Submit", "Filter", "Suchen"])
def test_a_form_that_only_looks_up_is_sent(name: str):
    assert judge_offer(button(name), GET).danger is None


@pytest.mark.parametrize("name", ["Delete", "Buy now", "Log out", "Send", "Unsubscribe"])
def test_a_form_sent_by_get_is_not_sent_by_a_button_of_a_dangerous_name(name: str):
    assert judge_offer(button(name), GET).danger is not None


def test_a_form_sent_by_get_to_an_address_that_deletes_is_not_sent():
    assert judge_offer(button("Go"), FormFacts("GET", "/items/3/delete")).danger == "deletes"


def test_what_a_button_overrides_of_its_form_counts():
    assert judge_offer(button("Go"), GET, marks={"formmethod": "post"}).danger == "submits"
    assert judge_offer(button("Go"), GET, marks={"formaction": "/items/3/delete"}).danger == "deletes"
    assert (
        judge_offer(button("Preview"), POST, marks={"formmethod": "get", "formaction": "/preview"}).danger
        is None
    )


def test_a_button_in_a_form_that_does_not_send_it_is_judged_by_its_name():
    assert judge_offer(button("Show calendar", kind="button"), POST).danger is None
    assert judge_offer(button("Start over", kind="reset"), POST).danger is None
    assert judge_offer(button("Delete", kind="button"), POST).danger == "deletes"


@pytest.mark.parametrize(
    ("marks", "danger"),
    [
        ({"data-method": "delete"}, "deletes"),
        ({"data-turbo-method": "post"}, "unknown_method"),
        ({"hx-delete": "/items/3"}, "deletes"),
        ({"hx-post": "/items/3"}, "unknown_method"),
        ({"data-hx-post": "/items/3"}, "unknown_method"),
        ({"data-confirm": "Are you sure?"}, "unknown_method"),
        ({"onclick": "return confirm('Sure?')"}, "submits"),
        ({"onclick": "deleteItem(3)"}, "deletes"),
        ({"@click": "logout()"}, "signs_out"),
        ({"wire:click": "destroy(3)"}, "deletes"),
        ({"data-delete": "/inbox/3/delete"}, "deletes"),
        ({"ping": "/count"}, "unknown_method"),
    ],
)
def test_attributes_that_name_a_method_or_a_deed_count_for_links_and_buttons(
    marks: dict[str, str], danger: str
):
    assert judge_offer(link("More"), marks=marks).danger == danger
    assert judge_offer(button("More"), marks=marks).danger == danger


@pytest.mark.parametrize(
    "marks",
    [
        {"data-method": "get"},
        {"onclick": "this.classList.remove('open')"},
        {"onclick": "removeClass(this)"},
        {"onclick": "toggleMenu()"},
        {"hx-get": "/rows"},
        {"data-post": "17"},
        {"data-toggle": "dropdown"},
    ],
)
def test_attributes_that_change_only_the_page_do_not_count(marks: dict[str, str]):
    assert judge_offer(button("More"), marks=marks).danger is None


@pytest.mark.parametrize(
    "marks",
    [
        {"aria-haspopup": "dialog"},
        {"data-bs-toggle": "modal"},
        {"popovertarget": "panel"},
        {"command": "show-modal", "commandfor": "panel"},
    ],
)
def test_a_button_that_says_it_opens_a_dialog_may_be_pressed_whatever_it_is_called(marks: dict[str, str]):
    assert judge_offer(button("Delete", kind="button"), marks=marks).danger is None
    assert judge_offer(button("Delete", kind="submit"), POST, marks=marks).danger == "deletes"


def test_fields_may_be_filled_unless_they_act_by_themselves():
    def field(**given: Any) -> Offer:
        return Offer(offer_id="o", action_type="fill", role="textbox", tag="input", name="Send date", **given)

    assert judge_offer(field(), POST).danger is None
    assert judge_offer(field(kind="file"), POST).danger == "uploads"
    assert judge_offer(field(), POST, marks={"onchange": "this.form.submit()"}).danger == "submits"
    assert judge_offer(field(), POST, marks={"onchange": "saveNow(this)"}).danger == "submits"
    switch = Offer(
        offer_id="o", action_type="check", role="switch", tag="input", kind="checkbox", name="Live"
    )
    assert judge_offer(switch).danger == "submits"
    assert judge_offer(switch, POST).danger is None


def test_an_icon_is_judged_by_what_programs_call_it():
    icon = button("", fingerprint=Fingerprint(attributes={"class": "btn-delete"}))
    assert judge_offer(icon).danger == "deletes"
    named = button("", fingerprint=Fingerprint(attributes={"data-testid": "remove-item", "class": "icon"}))
    assert judge_offer(named).danger == "deletes"


def test_the_delete_page_of_djangos_admin_is_opened_since_it_asks_first():
    delete = classed(
        link("Delete", "http://h/admin/auth/group/3/delete/?_changelist_filters=q%3Da"), "deletelink"
    )
    history = classed(link("History", "http://h/admin/auth/group/3/history/"), "historylink")
    assert judge_offer(delete, beside=[delete, history]).danger is None


def test_a_link_that_only_resembles_that_of_djangos_admin_is_not_opened():
    delete = classed(link("Delete", "/admin/auth/group/3/delete/"), "deletelink")
    others = classed(link("History", "/admin/auth/group/4/history/"), "historylink")
    plain = link("History", "/admin/auth/group/3/history/")
    assert judge_offer(delete).danger == "deletes"
    assert judge_offer(delete, beside=[delete, others, plain]).danger == "deletes"
    history = classed(link("History", "/items/3/history/"), "historylink")
    assert judge_offer(link("Delete", "/items/3/delete/"), beside=[history]).danger == "deletes"
    now = classed(link("Delete", "/items/3/delete/now/"), "deletelink")
    assert judge_offer(now, beside=[history]).danger == "deletes"


def test_links_into_the_same_document_open_nothing_whatever_its_address_says():
    page = "http://h/admin/auth/group/3/delete/"
    assert judge_offer(link("No, take me back", f"{page}#"), here=page).danger is None
    assert judge_offer(link("Skip to main content", f"{page}#content"), here=f"{page}#x").danger is None
    assert judge_offer(link("Go", f"{page}#/items/3/delete"), here=page).danger == "deletes"
    assert judge_offer(link("Log out", f"{page}#"), here=page).danger == "signs_out"
    assert judge_offer(link("Again", page), here=page).danger == "deletes"


@pytest.mark.parametrize("entry", ["Delete", "delete", "DEL*", "link:Delete", "/items/*/delete"])
def test_a_dangerous_link_is_allowed_by_its_name_or_path(entry: str):
    verdict = judge_offer(link("Delete", "/items/3/delete"), allowed=["Save", entry])
    assert verdict.danger == "deletes"
    assert verdict.allowed_by == entry
    assert verdict.may


@pytest.mark.parametrize("entry", ["Del", "button:Delete", "/items/*/remove", "Delete agent"])
def test_another_name_allows_nothing(entry: str):
    assert not judge_offer(link("Delete", "/items/3/delete"), allowed=[entry]).may


def test_signing_out_is_never_allowed_by_a_wildcard():
    assert not judge_offer(link("Log out", "/logout"), allowed=["*", "Log*", "/*"]).may
    assert judge_offer(link("Log out", "/logout"), allowed=["Log out"]).may


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "post", "PROPFIND", "CONNECT"])
def test_no_request_by_another_method_than_those_of_looking_passes(method: str):
    assert judge_request(method, "http://h/x").danger == "unknown_method"
    assert judge_request(method, "http://h/x", cleared={"http://h/x"}).danger == "unknown_method"
    assert judge_request(method, "http://h/x", allowed=True).may


def test_no_request_whose_address_deletes_or_signs_out_passes_unless_it_was_cleared():
    address = "http://h/admin/auth/group/3/delete/"
    assert judge_request("GET", address).danger == "deletes"
    assert judge_request("GET", "http://h/logout").danger == "signs_out"
    assert judge_request("GET", address, cleared={address}).may
    assert judge_request("GET", "http://h/static/delete.js").may
    assert judge_request("GET", "http://h/api/items").may


@pytest.mark.parametrize(
    "name",
    [
        "delete " * 5_000,
        "a " * 400_000,
        "\u0000\uffff delete",
        "]]>'\"`${{delete}}",
        "Delete\nnow",
        "\u202eeteled",
    ],
)
def test_hostile_names_are_judged_without_harm(name: str):
    find_danger_in_words(name, pressed=True)


@pytest.mark.parametrize(
    "href",
    ["http://[", "http://h/" + "a/" * 5_000 + "delete", "//", "javascript:deleteAll()", "data:text/html,x"],
)
def test_hostile_addresses_are_judged_without_harm(href: str):
    judge_offer(link("x", href[:8_000]))
    judge_request("GET", href)


def test_every_phrase_of_the_file_is_found_in_itself_unless_it_is_harmless():
    book = load_danger_words()
    for language, said in book.languages.items():
        for danger, phrases in said.always.items():
            assert danger in get_args(Danger)
            for phrase in phrases:
                bare = phrase.strip("^$")
                found = find_danger_in_words(bare, pressed=False)
                assert found is not None, f"{language}: {phrase!r} of {danger} finds nothing"
        for phrase in said.harmless:
            assert find_danger_in_words(phrase, pressed=False) is None, (
                f"{language}: {phrase!r} is not harmless"
            )


@pytest.mark.parametrize(
    ("address", "switches"),
    [
        ("/lang/de", True),
        ("/account/set_language/pt_BR", True),
        ("/setlocale/zh-hant?next=/", True),
        ("/lang/es_419", True),
        ("/lang/de/guide", False),
        ("/language/history", False),
        ("/language/new", False),
        ("/de/lang", False),
        ("/docs?lang=de", False),
    ],
)
def test_an_address_that_stores_the_language_of_the_session_is_not_opened(address, switches):
    found = find_danger_in_address(f"http://shop.example{address}")
    assert (found is not None and "language" in found[1]) is switches


DELETING = (
    "削除 Удалить Usuń Slet 삭제 حذف Sil Xóa ลบ Smazat Törlés Poista Видалити Διαγραφή מחק हटाएं 删除 Hapus Șterge Obriši Izbriši"
    " アカウントを削除する 删除账户 삭제하기 ลบบัญชี Kustuta Dzēst Ištrinti Scrap Truncate"
)
MOVING_MONEY = "Cash out|Charge card|Apmaksāt|Transfer|Submit order|Confirm purchase|Top up|Pledge|Bid|Start trial|Оплатить|立即购买|注文する|결제하기|Zapłać|Köp nu"
ONLY_POSTED = "Share|Forward|Mail it|Tip|Renew"
HARMLESS = "Kustuta filter|Noņemt filtru|Scrapbook|削除済み|清除筛选|Удалить фильтр|필터 삭제|Usuń filtry|支付方式|Transfers|Transfer history|SIL International|送信済み|Letter|Bidding"


@pytest.mark.parametrize(
    "name", [*DELETING.split(), "Ta bort", "Factory reset", "Empty bin", "Throw away", "Get rid of it"]
)
def test_deeds_are_known_in_many_languages(name):
    assert (find_danger_in_words(name, pressed=True) or ("",))[0] == "deletes"


@pytest.mark.parametrize("name", MOVING_MONEY.split("|"))
def test_deeds_that_move_money_are_known_in_many_languages(name):
    assert (find_danger_in_words(name, pressed=True) or ("",))[0] == "pays"


@pytest.mark.parametrize("name", ONLY_POSTED.split("|"))
def test_words_that_send_or_pay_only_where_a_form_is_posted(name):
    assert find_danger_in_words(name, pressed=True) is None
    assert find_danger_in_words(name, pressed=True, posts=True) is not None


@pytest.mark.parametrize("name", HARMLESS.split("|"))
def test_names_of_things_and_filters_are_no_deeds(name):
    found = find_danger_in_words(name, pressed=True, posts=True)
    assert found is None or found[0] == "submits"
