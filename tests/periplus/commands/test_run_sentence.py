"""What is shown before a sentence is run."""

from __future__ import annotations

import io

from rich.console import Console

from agent.sentences.sentence_binding import BoundTask
from periplus.commands.run_sentence import SentenceChoice, confirm_sentence


def test_a_password_is_not_shown():
    out = io.StringIO()
    task = BoundTask(task_id="create_group", name="", values={})
    values = {"name": "Partners", "username": "anna", "password": "anna-pass-77"}
    confirm_sentence(SentenceChoice("shop", task=task), values, Console(file=out, width=200), yes=True)
    assert "name=Partners" in out.getvalue()
    assert "anna-pass-77" not in out.getvalue()
