"""Files from strangers end within their budget, whatever their parser does, and say so."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Self

import pytest

from kb_schema.session_reader import SessionManifest
from loaders.recordings.imported_traces import UnreadableRecording
from periplus.errors import UserError
from periplus.foreign_input import DEFAULT_BUDGET, ImportBudget, InputTooLarge, read_foreign

SMALL = ImportBudget(memory_mb=128, seconds=1)
FILE = Path("stranger.bin")


def _fine(text: str, *, twice: bool = False) -> dict[str, list[str]]:
    return {"said": [text, text] if twice else [text]}


def _eats_memory() -> int:
    return len([bytes(1_000_000) for _ in range(100_000)])


def _eats_time() -> None:
    while True:
        pass


def _waits() -> None:
    time.sleep(3_600)


def _says_much() -> bytes:
    return bytes(40_000_000)


def _goes_deep(depth: int = 0) -> int:
    return _goes_deep(depth + 1)


def _dies() -> None:
    import os  # noqa: PLC0415 - for the child alone

    os.abort()


def _refuses() -> None:
    raise UnreadableRecording(FILE, "is not JSON", "line 3")


def test_what_is_read_comes_back():
    assert read_foreign(FILE, SMALL, _fine, "a", twice=True) == {"said": ["a", "a"]}


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (_eats_memory, "128 MB of memory"),
        (_eats_time, "beyond 1 s of processor time"),
        (_says_much, "32 MB of result"),
        (_goes_deep, "its depth"),
        (_dies, "its limits"),
    ],
)
def test_what_is_too_much_ends_with_the_options_that_raise_the_limits(read, words):
    with pytest.raises(InputTooLarge, match=words) as refused:
        read_foreign(FILE, SMALL, read)
    assert "stranger.bin expands beyond" in refused.value.message
    assert "--max-import-memory" in (refused.value.fix or "")


def test_a_reader_that_only_waits_ends_too(monkeypatch):
    monkeypatch.setattr("periplus.foreign_input.STALLED_FACTOR", 0.2)
    with pytest.raises(InputTooLarge, match="was not read within its limits: reading it waited"):
        read_foreign(FILE, SMALL, _waits)


def _waits_for_a_processor(pid: int, since: float) -> float:
    assert pid
    return time.monotonic() - since


def _is_slow() -> str:
    time.sleep(1.5)
    return "read"


def test_a_reader_that_waits_for_a_processor_is_waited_for(monkeypatch):
    began = time.monotonic()
    monkeypatch.setattr("periplus.foreign_input.STALLED_FACTOR", 0.1)
    monkeypatch.setattr("periplus.foreign_input._LOOK_S", 0.2)
    with pytest.raises(InputTooLarge):
        read_foreign(FILE, SMALL, _is_slow)
    monkeypatch.setattr(
        "periplus.foreign_input.read_scheduled_s", lambda pid: _waits_for_a_processor(pid, began)
    )
    assert read_foreign(FILE, SMALL, _is_slow) == "read"


def test_where_the_system_does_not_tell_what_a_reader_waits_for_it_gets_much_longer(monkeypatch):
    monkeypatch.setattr("periplus.foreign_input.STALLED_FACTOR", 0.1)
    monkeypatch.setattr("periplus.foreign_input._LOOK_S", 0.2)
    monkeypatch.setattr("periplus.foreign_input.read_scheduled_s", lambda _: None)
    assert read_foreign(FILE, SMALL, _is_slow) == "read"
    monkeypatch.setattr("periplus.foreign_input.WALL_FACTOR", 0.1)
    with pytest.raises(InputTooLarge):
        read_foreign(FILE, SMALL, _is_slow)


def test_a_refusal_of_the_reader_is_its_own():
    with pytest.raises(UnreadableRecording) as refused:
        read_foreign(FILE, SMALL, _refuses)
    assert (refused.value.file, refused.value.reason, refused.value.place) == (FILE, "is not JSON", "line 3")
    assert str(refused.value) == "stranger.bin, line 3: is not JSON"


def _finds_an_invalid_model() -> None:
    SessionManifest.model_validate({"session_id": 7})


def test_a_value_that_cannot_be_kept_is_a_refusal_with_its_place():
    said = "a session_id of a SessionManifest in it cannot be kept: Input should be a valid string"
    with pytest.raises(UserError, match=said):
        read_foreign(FILE, SMALL, _finds_an_invalid_model)


class _NeedsWords(Exception):
    def __new__(cls, words: str) -> Self:
        return super().__new__(cls, words)


def _says_words() -> None:
    raise _NeedsWords("these words")


def test_an_error_that_cannot_be_made_again_keeps_its_words():
    with pytest.raises(RuntimeError, match="_NeedsWords: these words"):
        read_foreign(FILE, SMALL, _says_words)


def test_the_default_stays_below_a_gigabyte_and_ten_seconds():
    assert DEFAULT_BUDGET.memory_mb < 1_000
    assert DEFAULT_BUDGET.seconds < 10
