"""The plan of a job in words that no task does: made before any page is seen, shown to a person, and kept in orders of the service.

Making it is `agent.sentence_runs.sentence_plan`.
"""

from __future__ import annotations

from pydantic import BaseModel, Field

from kb_schema.sentence_quotes import remove_quotes
from kb_schema.templates import list_telling_words

LONGEST = 300
"""Characters of one text of a plan."""
SHORTEST_TITLE = 3
"""Letters of a text that may name an entry of a page."""
SHORTEST_WORD = 4
"""Letters of a word of a sentence that may."""
_SAYS_NOTHING = frozenset(
    (
        "about",
        "been",
        "have",
        "into",
        "says",
        "saying",
        "that",
        "their",
        "them",
        "there",
        "they",
        "this",
        "what",
        "when",
        "where",
        "which",
        "with",
        "your",
    )
)


class ControlChange(BaseModel):
    """A control that says by its own name, state or number that the job is done: `Follow` becomes `Following`, a star is pressed."""

    control: str
    """What it is called before, or what its icon stands for."""
    beside: list[str] = Field(default_factory=list, max_length=3)
    """Texts of the sentence that its card or row has, or the heading of its page."""
    on: bool = True
    """Whether it is pressed, or counts one more, when the job is done; False: no longer, or one less."""


class SentencePlan(BaseModel):
    """What a model answers; texts that are too long are cut off, unknown ids and unfounded evidence are dropped."""

    name: str = Field(default="", max_length=LONGEST)
    task_id: str | None = None
    task_values: dict[str, str] = Field(default_factory=dict)
    start_screen: str | None = None
    screens: list[str] = Field(default_factory=list, max_length=20)
    steps: list[str] = Field(default_factory=list, max_length=20)
    controls: list[str] = Field(default_factory=list, max_length=40)
    entered: list[str] = Field(default_factory=list, max_length=40)
    shown_when_done: list[str] = Field(default_factory=list, max_length=5)
    gone_when_done: list[str] = Field(default_factory=list, max_length=5)
    on_when_done: list[str] = Field(default_factory=list, max_length=5)
    off_when_done: list[str] = Field(default_factory=list, max_length=5)
    changed_when_done: list[ControlChange] = Field(default_factory=list, max_length=5)

    @property
    def evidence(self) -> list[str]:
        """Return the texts of the sentence that show that the job is done."""
        texts = [*self.shown_when_done, *self.gone_when_done, *self.on_when_done, *self.off_when_done]
        beside = [text for each in self.changed_when_done for text in each.beside]
        return list(dict.fromkeys([*texts, *beside]))

    @property
    def named_screens(self) -> tuple[str, ...]:
        """Return the screens that the job may go to."""
        return tuple(dict.fromkeys([*([self.start_screen] if self.start_screen else []), *self.screens]))

    def name_for(self, sentence: str) -> str:
        """Return a name for a workflow that does it: the plan's, else the first words of the sentence."""
        return self.name.strip() or " ".join(sentence.split()[:5])

    def describe(self) -> str:
        """Return the plan in lines, as a person and the model are shown it."""
        lines = [f"{number}. {step}" for number, step in enumerate(self.steps, start=1)]
        for what, texts in (
            ("presses", self.controls),
            ("enters", self.entered),
            ("done when the page shows", self.shown_when_done),
            ("done when the page no longer shows", self.gone_when_done),
            ("done when it is on", self.on_when_done),
            ("done when it is off", self.off_when_done),
            ("done when it says so itself", list(map(describe_change, self.changed_when_done))),
        ):
            if texts:
                lines.append(f"{what}: {', '.join(texts)}")
        return "\n".join(lines) or "no steps"


def describe_change(change: ControlChange) -> str:
    """Return a control that changes in words."""
    beside = f" beside {' and '.join(map(repr, change.beside))}" if change.beside else ""
    return f"{change.control!r}{beside} is {'pressed' if change.on else 'no longer pressed'}, or called otherwise"


def fold(text: str) -> str:
    """Return a text for comparison: without case and repeated white space."""
    return " ".join(text.split()).casefold()


def stands_in(said: str, whole: str) -> bool:
    """Return whether a text stands in another one between the bounds of words. Both are folded."""
    at = whole.find(said)
    while at >= 0:
        before, after = whole[at - 1 : at], whole[at + len(said) : at + len(said) + 1]
        if not (before.isalnum() or after.isalnum()):
            return True
        at = whole.find(said, at + 1)
    return False


def is_title_in(text: str, sentence: str) -> bool:
    """Return whether a sentence has a text of a page whole, which may name an entry there: no word of two letters, and no number.

    >>> [is_title_in(each, "Like the post by Ada Lovelace of 1843") for each in ("Ada Lovelace", "Ada", "by", "1843", "Lovelace & Co")]
    [True, True, False, False, False]
    """
    said = fold(text)
    return sum(each.isalpha() for each in said) >= SHORTEST_TITLE and stands_in(said, fold(sentence))


def list_plain_words(sentence: str) -> list[str]:
    """Return the words of a sentence that may say which thing is meant: not those in quotes, small ones, or the first, its verb.

    >>> list_plain_words("Add a comment saying 'How many?' to the McKinsey post about their campus")
    ['comment', 'mckinsey', 'post', 'campus']
    """
    told = list_telling_words(remove_quotes(sentence))[1:]
    return [
        each for each in told if len(each) >= SHORTEST_WORD and each.isalpha() and each not in _SAYS_NOTHING
    ]
