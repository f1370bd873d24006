"""Which fields hold secrets."""

from __future__ import annotations

import pytest

from kb_schema.secret_fields import is_secret_autocomplete, is_secret_name, looks_like_a_secret
from tests.support.secret_names import PLAIN, SECRETS, list_secret_names


def test_there_are_sixty_names_in_twelve_languages():
    assert len(list_secret_names()) >= 60
    assert len(SECRETS) >= 12


@pytest.mark.parametrize("name", list_secret_names())
def test_names_of_secrets_are_recognised_in_any_language(name):
    assert is_secret_name(name)


@pytest.mark.parametrize("name", PLAIN)
def test_names_of_other_fields_are_not(name):
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("given", "secret"),
    [("section-a CC-Number", True), ("one-time-code", True), ("username", False), ("", False), (None, False)],
)
def test_autocomplete_tells_a_secret(given, secret):
    assert is_secret_autocomplete(given) is secret


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("Tr4pez#oid", True), ("4111111111111111", True), ("4111 1111 1111 1112", False), ("24379305167298", False),
        ("ann@shop.test", False), ("https://a.test/?x=1", False), ("Test_Workspace_1", False), ("1, Main Street!", False),
        ("{name}#1abcd", True), ("{secret}", False), ("a#1", False),
    ],
)  # fmt: skip
def test_a_typed_text_may_look_like_a_secret(value, secret):
    assert looks_like_a_secret(value) is secret
