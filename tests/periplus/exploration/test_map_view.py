"""What the progress of a map prints of a website."""

from __future__ import annotations

from periplus.exploration.map_view import format_plain_text


def test_secrets_in_addresses_are_not_printed() -> None:
    said = format_plain_text("download: http://quay.example/rss?token=dbee00c72ff8&sort=name")
    assert said == "download: http://quay.example/rss?token=masked-secret&sort=name"
    assert format_plain_text("/list?page=2\u001b[31m") == "/list?page=2 [31m"
