"""The fingerprint of one element: a description by which it is recognised later.

Every field may be missing, so that elements of any data set can be described. `fingerprint_similarity` compares two of
them. `agent/locators/page_fingerprints.py` takes fingerprints from a page index.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kb_schema.base import Model

TEST_IDS = ("data-testid", "data-test-id", "data-test", "data-qa", "data-cy", "data-pw")
"""Attributes whose purpose is to identify an element in tests."""
WORD_ATTRIBUTES = ("aria-label", "placeholder", "title", "alt", "value")
"""Attributes with text for people."""

FingerprintText = Annotated[str, Field(max_length=1_000)]


class Fingerprint(Model):
    """The description of one element, to recognise it later."""

    role: FingerprintText | None = None
    name: FingerprintText | None = None
    """Accessible name."""
    tag: FingerprintText | None = None
    text: FingerprintText | None = None
    label: FingerprintText | None = None
    """The text of the control's label."""
    icon: FingerprintText | None = None
    """What the first picture in it is called in its icon set or file: `arrow up`."""
    attributes: dict[str, FingerprintText] = Field(default_factory=dict)
    """`id`, `name`, `type`, `href`, `class`, `placeholder`, `aria-label`, test ids, ..."""
    heading: FingerprintText | None = None
    """The nearest heading before it."""
    before: FingerprintText | None = None
    after: FingerprintText | None = None
    """The text just before and just after it."""
    row: tuple[FingerprintText, ...] = ()
    """The other texts of its table row, list item or card."""
    column: FingerprintText | None = None
    """The header of its table column."""
    neighbours: tuple[FingerprintText, ...] = ()
    """Names of the other interactive elements in its region."""
    region: tuple[FingerprintText, ...] = ()
    """The regions that contain it, outermost first: kind, then name."""
    place: int | None = None
    """How many elements of its role come before it in its region."""
    twins: int | None = None
    """How many other elements of the page have its role and name."""
    key: tuple[FingerprintText, ...] = ()
    """Texts beside it that none of its twins has beside it, the most distinctive first."""
    xpath: FingerprintText | None = None
    """A path of tags from the root, without positions."""
    box: tuple[float, float, float, float] | None = None
    """x, y, width and height in CSS pixels."""

    @property
    def words(self) -> tuple[str, ...]:
        """All its names, without duplicates."""
        texts = (self.name, self.label, self.text, *(self.attributes.get(a) for a in WORD_ATTRIBUTES))
        return tuple(dict.fromkeys(each for each in texts if each))

    @property
    def test_id(self) -> str | None:
        """The first of its `TEST_IDS` attributes."""
        return next((self.attributes[a] for a in TEST_IDS if self.attributes.get(a)), None)

    @property
    def surroundings(self) -> tuple[str, ...]:
        """All texts beside and around it."""
        texts = (*self.row, self.before, self.after, self.column, self.heading, *self.region)
        return tuple(dict.fromkeys(each for each in texts if each))
