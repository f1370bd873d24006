"""Secrets that addresses carry are masked, and nothing else is."""

from __future__ import annotations

import pytest

from kb_schema.address_secrets import MASKED, mask_address_secrets
from kb_schema.url_patterns import is_id_segment

RANDOM = "q7Zk2mP9xV4tB8nL1sD6"
UUID = "550e8400-e29b-41d4-a716-446655440000"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.c2lnbmF0dXJlLWhlcmU"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("/rss?token=dbee00c72ff8&sort=name", "/rss?token=masked-secret&sort=name"),
        ('<a href="/rss?a=1&amp;access_token=dbee00c72ff8">', '<a href="/rss?a=1&amp;access_token=masked-secret">'),
        ("/login?next=%2Frss%3Ftoken%3Ddbee00c72ff8%26a%3D1", "/login?next=%2Frss%3Ftoken%3Dmasked-secret%26a%3D1"),
        (r'{"url":"/x?a=1\u0026apikey=dbee00c72ff8"}', r'{"url":"/x?a=1\u0026apikey=masked-secret"}'),
        ("/#/done#access_token=dbee00c72ff8", "/#/done#access_token=masked-secret"),
        (f"/file?X-Amz-Signature={RANDOM}&X-Amz-Expires=300", "/file?X-Amz-Signature=masked-secret&X-Amz-Expires=300"),
        (f"/blob?sv=2024-01-01&sig={RANDOM}", "/blob?sv=2024-01-01&sig=masked-secret"),
        (f"/app?session={UUID}", "/app?session=masked-secret"),
        (f"/back?code={RANDOM}&state=open", "/back?code=masked-secret&state=open"),
        (f"Join: https://a.test/invite/{RANDOM} today", "Join: https://a.test/invite/masked-secret today"),
        (f"/teams/3/invitations/{RANDOM}/accept", "/teams/3/invitations/masked-secret/accept"),
        (f"/reset/MTI/{RANDOM}/", "/reset/MTI/masked-secret/"),
        (f"/share/{UUID}?a=1", "/share/masked-secret?a=1"),
        ("/calendar/ical/private-0123456789abcdef01/basic.ics", "/calendar/ical/private-masked-secret/basic.ics"),
        (f"/cb/{JWT}", "/cb/masked-secret"),
        ("https://ada:Tr4pez@a.test/", "https://ada:masked-secret@a.test/"),
    ],
)  # fmt: skip
def test_a_secret_of_an_address_is_masked(text: str, masked: str) -> None:
    assert mask_address_secrets(text) == masked
    assert mask_address_secrets(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "/list?key=name&state=open&session=12&code=DE",
        "/list?key=project-settings-2024-of-the-harbor",
        f"/boats/{UUID}/edit?tab=1",
        f"/boats/{RANDOM}",
        "/share/the-boat-of-the-harbor-2026",
        "/reset-password",
        "/password/change?next=/boats",
        "/invite?by=mail",
        "/list?token=1&pin=on",
        "https://a.test:8080/a@b",
        "a = b; c?d=e",
        "<p>Skua</p>",
    ],
)
def test_what_names_a_thing_stays(text: str) -> None:
    assert mask_address_secrets(text) == text


def test_what_was_masked_in_a_path_is_one_of_many() -> None:
    assert is_id_segment(MASKED)
