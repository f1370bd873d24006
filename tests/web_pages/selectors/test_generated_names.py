"""Names made up by programs are told from names given by people."""

from __future__ import annotations

import string
import uuid
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kb_schema.page_snapshots import PageSnapshot
from web_pages.selectors.generated_names import looks_generated
from web_pages.selectors.stable_attributes import (
    ValueFlaw,
    find_attribute_flaw,
    find_class_flaw,
    find_text_flaw,
)
from web_pages.stored_pages import StoredPage

MADE_UP = [
    ":r1:", ":R2ab:", "«r3»", "_r_1a_", "radix-:r3:", "radix-12", "headlessui-menu-button-:r1:", "headlessui-dialog-12",
    "ember123", "ember4", "css-1a2b3c", "css-1tky8bj", "css-k008qs", "sc-bdVaJa", "sc-gsnTZi", "jsx-3820912", "svelte-1tky8bj",
    "jss123", "makeStyles-root-12", "MuiButton-root-123", "mui-4", "mui-12345", "ui-id-12", "gwt-uid-7", "ext-gen1023",
    "ext-comp-1001", "yui_3_18_1_1_1700000000", "react-select-2-input", "react-aria123-:r4:", "downshift-0-item-1", "cdk-overlay-0",
    "mat-input-3", "mat-option-15", "rc_select_0", "rc-tabs-0-tab-1", "__BVID__12", "el-id-1024-5", "data-v-7ba5bd90",
    "_ngcontent-abc-c12", "ng-tns-c42-1", "tippy-3", "Button_button__3xY2z", "styles__card___2kSdf", "_button_1k2j3_12",
    "card__aBcDe", "fLzYxQ", "iuPJKd", "a1b2c3d4", "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "3f2504e04f8911d39a0c0305e82c3301",
    "row-10021", "item_20240131", "5f4dcc3b5aa765d6", "chunk-8a9f2c1b", "main.4e5c9f2a", "x7k2p9q4", "field-8f3a9", "mantine-r4n2x1",
]  # fmt: skip
GIVEN = [
    "save", "save-button", "save_button", "saveButton", "SaveButton", "agent-name", "agentNameCtl", "id_username", "id_form-0-name",
    "step-2", "h1", "col-3", "section2", "address1", "line_2", "tab-1", "deadbeef", "facade", "decade", "a11y-menu", "i18n", "b2b",
    "k8s-cluster", "mp3-player", "2fa-code", "3columns", "html5", "utf8", "q", "x", "kb", "nav-main", "MuiButton-root", "MuiPaper-elevation1",
    "card__title", "card__title--large", "block__element", "css-editor", "sc-button", "svelte-app", "go-back", "email", "csrfmiddlewaretoken",
    "items[0][qty]", "user.email", "create-agent", "searchbar", "btnSubmit", "txtUserName", "lblPwd", "ctl00", "dropdown-toggle", "e-mail",
    "form-control", "breadcrumbs", "strengths", "backgroundImage", "first_name", "loginForm", "xAxis", "iPhone", "jQuery", "tablist",
    "cookie-decline", "related-lookup", "vTextField", "addlink", "django-admin-log", "nav-sidebar", "change-related", "ui-datepicker",
]  # fmt: skip


@pytest.mark.parametrize("name", MADE_UP)
def test_what_frameworks_number_or_hash_is_made_up(name):
    assert looks_generated(name)


@pytest.mark.parametrize("name", GIVEN)
def test_what_a_person_would_type_is_not(name):
    assert not looks_generated(name)


WORDS = [
    "save", "cancel", "submit", "agent", "name", "email", "user", "search", "login", "account", "settings",
    "profile", "button", "input", "field", "title", "header", "footer", "content", "menu", "item", "list",
    "table", "row", "cell", "form", "group", "card", "panel", "dialog", "modal", "close", "open", "next",
    "previous", "page", "first", "last", "order", "price", "total", "date", "time", "note", "message",
    "contact", "phone", "address", "city", "country", "state", "delete", "edit", "create", "update",
    "remove", "add", "new", "import", "export", "upload", "download", "filter", "sort", "view", "show",
    "hide", "toggle", "select", "option", "language",
]  # fmt: skip
_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4)
_small = st.integers(0, 99)


@example(["save", "row", "save"], ":", False)
@given(_words, st.sampled_from(["-", "_", ".", "", "__", ":"]), st.booleans())
def test_any_words_joined_in_any_usual_way_are_kept(words, joint, capitals):
    parts = [word.capitalize() for word in words] if capitals or not joint else words
    assert not looks_generated(joint.join(parts))


@given(_words, _small, st.sampled_from(["-", "_", ""]))
def test_a_small_number_behind_words_is_kept(words, number, joint):
    assert not looks_generated("-".join(words) + joint + str(number))


@given(_words, st.integers(1_000, 10**9))
def test_a_long_number_anywhere_is_made_up(words, number):
    assert looks_generated("-".join([*words, str(number)]))
    assert looks_generated("-".join([str(number), *words]))


@given(st.uuids(), _words)
def test_any_uuid_is_made_up(value: uuid.UUID, words):
    assert looks_generated(str(value))
    assert looks_generated(f"{words[0]}-{value}")
    assert looks_generated(value.hex)


@given(st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=3), _words)
def test_any_react_id_is_made_up_alone_and_inside(number, words):
    assert looks_generated(f":r{number}:")
    assert looks_generated(f"{words[0]}-:r{number}:-{words[-1]}")


@given(
    st.text(string.ascii_lowercase + string.digits, min_size=6, max_size=8),
    st.sampled_from(["css-", "svelte-", "jsx-"]),
)
def test_a_hash_with_digits_in_it_behind_a_librarys_name_is_made_up(hashed, prefix):
    runs = sum(a.isdigit() != b.isdigit() for a, b in pairwise(hashed))
    if runs >= 3 or (hashed[0].isdigit() and hashed[1].isalpha()):
        assert looks_generated(prefix + hashed)


@given(st.text(max_size=200))
def test_any_text_has_an_answer(text):
    assert looks_generated(text) in (True, False)


def test_the_answer_comes_in_time_for_the_longest_names():
    for name in (
        "a-" * 5_000,
        "a_" * 5_000,
        "1a" * 5_000,
        "aB" * 5_000,
        "rc_" + "a-" * 5_000,
        "a" * 10_000 + "__",
    ):
        assert looks_generated(name) in (True, False)


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("Save", None), ("Page 2", None), ("2", None), ("Section 8", None), ("Today", None), ("O'Brien", None), ("Invoice 2041 is ready", None),
        ("", ValueFlaw.ABSENT), ("  ", ValueFlaw.ABSENT), ("word " * 40, ValueFlaw.TOO_LONG),
        ("Inbox (3)", ValueFlaw.CHANGES), ("3 messages", ValueFlaw.CHANGES), ("10:32", ValueFlaw.CHANGES), ("5 minutes ago", ValueFlaw.CHANGES),
        ("$5", ValueFlaw.CHANGES), ("20 €", ValueFlaw.CHANGES), ("87 %", ValueFlaw.CHANGES), ("1,204 calls", ValueFlaw.CHANGES), ("Page 2 of 9", ValueFlaw.CHANGES),
        ("12 Mar", ValueFlaw.CHANGES), ("March 12", ValueFlaw.CHANGES), ("Today, noon", ValueFlaw.CHANGES), ("Unread [12]", ValueFlaw.CHANGES), ("4.2", ValueFlaw.CHANGES),
    ],
)  # fmt: skip
def test_words_that_count_or_tell_the_time_are_not_used(text, flaw):
    assert find_text_flaw(text) is flaw


@pytest.mark.parametrize(
    "name",
    [
        "active",
        "is-open",
        "Mui-focused",
        "nav-link-active",
        "select2-results__option--highlighted",
        "ng-dirty",
        "mt-4",
        "col-md-6",
        "md:flex",
        "w-1/2",
        "css-1a2b3c",
        "d-flex",
        "text-center",
        "flex",
        "justify-content-between",
        "unread",
        "show",
    ],
)
def test_classes_of_states_looks_and_hashes_are_not_used(name):
    assert find_class_flaw(name) is not None


@pytest.mark.parametrize(
    "name",
    [
        "agent-card",
        "btn-primary",
        "searchForm",
        "card__title",
        "MuiButton-root",
        "row-link",
        "page-head",
        "sign-in",
        "text-link",
        "field-error",
        "left-panel",
    ],
)
def test_classes_that_say_what_something_is_are_used(name):
    assert find_class_flaw(name) is None


@pytest.mark.parametrize(
    ("markup", "attribute", "flaw"),
    [
        ("<a href='/agent/new'>", "href", None), ("<a href='#'>", "href", ValueFlaw.ABSENT), ("<a href='javascript:go()'>", "href", ValueFlaw.ABSENT),
        ("<a href='/order/100212'>", "href", ValueFlaw.MADE_UP), ("<a href='/x?token=a8f3k2d9'>", "href", ValueFlaw.MADE_UP), ("<a>", "href", ValueFlaw.ABSENT),
        ("<input value=typed>", "value", ValueFlaw.CHANGES), ("<input type=submit value='Log in'>", "value", None), ("<input type=radio value=large>", "value", None),
        ("<i id=':r1:'>", "id", ValueFlaw.MADE_UP), ("<i aria-label='Notifications (3)'>", "aria-label", ValueFlaw.CHANGES), ("<i title=Help>", "title", None),
    ],
)  # fmt: skip
def test_attributes_are_used_where_their_value_lasts(markup, attribute, flaw):
    page = StoredPage(PageSnapshot(url="http://x.test/", html=markup))
    element = next(each for each in page.roots[0].elements if each.tag in ("a", "i", "input"))
    assert find_attribute_flaw(element, attribute) is flaw
