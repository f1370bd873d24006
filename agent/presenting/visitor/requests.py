"""What a visitor may want, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What a visitor wants."""

    BACK = "back"
    SKIP = "skip"
    SHOW = "show"
    """Something is to be seen; the story goes on afterwards where it was."""
    JUMP = "jump"
    """The story is to go on from there."""
    REPLAY = "replay"
    """What was just shown, once more."""
    RESTART = "restart"
    REPEAT = "repeat"
    """What was just said, once more."""
    SLOWER = "slower"
    FASTER = "faster"
    USUAL = "usual"
    """At the show's own speed again."""
    PAUSE = "pause"
    GO_ON = "go_on"
    STOP = "stop"
    INTRODUCE = "introduce"
    YES = "yes"
    NO = "no"
    GREET = "greet"
    THANKS = "thanks"
    ATTENTION = "attention"
    """There is a question, and it has not been said yet."""
    HELP = "help"
    """What one may ask for."""
    INTEREST = "interest"
    NO_INTEREST = "no_interest"
    QUESTION = "question"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Request:
    """What was understood. Words are the visitor's own: personal data."""

    kind: Kind
    text: str
    """All that was said."""
    topic: str = ""
    """What it is about, for `show`, `jump`, `interest`, `no_interest` and `question`."""
    name: str = ""
    """The visitor's, for `introduce`."""
    language: str = "en"
    """The language it was understood in."""
    then: Request | None = None
    """What was wanted besides, in the same breath."""
