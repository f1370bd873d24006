"""What is proposed of a healed element: nothing that the recordings do not have, or that varied between them."""

from __future__ import annotations

from agent.healing.element_memory import keep_recorded_fields
from kb_schema.fingerprints import Fingerprint

SEEN = Fingerprint(
    role="button", name="Store", text="Store", row=("Argo", "12 May"), heading="Boats", neighbours=("Cancel",),
    attributes={"id": "go-2", "class": "accent", "data-row": "17"},
)  # fmt: skip


def test_a_proposed_fingerprint_has_the_fields_of_the_recorded_one_as_they_are_now():
    recorded = Fingerprint(role="button", name="Save", neighbours=("Cancel", "List"), attributes={"id": "go"})
    assert keep_recorded_fields(SEEN, recorded) == Fingerprint(
        role="button", name="Store", neighbours=("Cancel",), attributes={"id": "go-2"}
    )


def test_without_a_recorded_one_all_of_it_is_proposed():
    assert keep_recorded_fields(SEEN, None) == SEEN
