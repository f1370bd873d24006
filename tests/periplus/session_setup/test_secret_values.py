"""Values of a session that are called like secrets: nothing that is written has them."""

from __future__ import annotations

from agent.run_context import RunContext
from periplus.session_setup.sessions import keep_secret_values


def test_a_password_that_was_typed_before_the_session_is_in_nothing_that_it_writes():
    context = RunContext()
    keep_secret_values(context, {"email": "me@a.example", "password": "Demo-Secret-99123"})
    shown = {"title": "Hello me@a.example, Demo-Secret-99123", "at": "/?p=Demo%2DSecret%2D99123"}
    assert "me@a.example" in context.redact(shown)["title"]
    assert "99123" not in str(context.redact(shown))
