"""The requests a visitor can make, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RequestKind(StrEnum):
    """Kind of a request."""

    BACK = "back"
    SKIP = "skip"
    SHOW = "show"
    """Show something, then continue the flow where it was."""
    JUMP = "jump"
    """Continue the flow from there."""
    REPLAY = "replay"
    """Show the last segment again."""
    RESTART = "restart"
    REPEAT = "repeat"
    """Say the last sentence again."""
    SLOWER = "slower"
    FASTER = "faster"
    USUAL = "usual"
    """Return to the presentation's own speed."""
    PAUSE = "pause"
    GO_ON = "go_on"
    STOP = "stop"
    INTRODUCE = "introduce"
    YES = "yes"
    NO = "no"
    GREET = "greet"
    THANKS = "thanks"
    ATTENTION = "attention"
    """The visitor announces a question."""
    HELP = "help"
    """Ask what can be requested."""
    INTEREST = "interest"
    NO_INTEREST = "no_interest"
    IDENTITY = "identity"
    """Ask who or what the presenter is."""
    QUESTION = "question"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class VisitorRequest:
    """A parsed request. Its words are personal data."""

    kind: RequestKind
    text: str
    """The complete words."""
    topic: str = ""
    """Its subject, for `show`, `jump`, `interest`, `no_interest` and `question`."""
    name: str = ""
    """The visitor's name, for `introduce`."""
    language: str = "en"
    """The language in which it was parsed."""
    then: VisitorRequest | None = None
    """Additional requests in the same utterance."""
