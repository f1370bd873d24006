"""Where a visitor's page may be shown in a frame."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from periplus.errors import UserError
from periplus.service.visits.visit_routes import _build_security_headers
from periplus.service.visits.visit_settings import load_visit_settings


def _policy() -> str:
    registry = SimpleNamespace(in_rooms=False, settings=load_visit_settings())
    return _build_security_headers(registry)["Content-Security-Policy"]


def test_no_page_may_show_a_demo_in_a_frame_unless_its_origin_is_named(monkeypatch):
    assert "frame-ancestors 'none';" in _policy()
    monkeypatch.setenv("PERIPLUS_VISIT_EMBED_ORIGINS", "https://www.example.com/, http://localhost:8080")
    assert "frame-ancestors https://www.example.com http://localhost:8080;" in _policy()


@pytest.mark.parametrize(
    "origins",
    [
        "*",
        "www.example.com",
        "http://www.example.com",
        "https://x.example; script-src *",
        "https://x.example/a",
    ],
)
def test_what_is_no_origin_is_refused_with_the_variable(monkeypatch, origins):
    monkeypatch.setenv("PERIPLUS_VISIT_EMBED_ORIGINS", origins)
    with pytest.raises(UserError, match="PERIPLUS_VISIT_EMBED_ORIGINS"):
        load_visit_settings()
