"""Which element of a page is one that is known, beyond what two fingerprints say: where it stands, what it leads to.

For whoever finds elements of tests again: the bench of verifications, and the optimizer.
"""

from __future__ import annotations

from agent.healing.judging import SAME_PLACE, judge, leads_to
from agent.locating.fingerprints import Fingerprints
from agent.locating.index import RegionKind
from kb_schema.fingerprints import Fingerprint
from kb_schema.wording import is_destructive


def same_address(prints: Fingerprints, known: Fingerprint) -> int | None:
    """A link that leads where it led, in the same surroundings, is that link, whatever it is called now:
    following it is all that is done to it. Nothing that destroys is taken so.
    """
    address = leads_to(known)
    if address is None or is_destructive(address) or any(map(is_destructive, known.words)):
        return None
    found = [
        at for at, seen in prints.all()
        if leads_to(seen) == address and (seen.tag, seen.role) == (known.tag, known.role)
        and (judge(known, seen).context or 0.0) >= SAME_PLACE
    ]  # fmt: skip
    return found[0] if len(found) == 1 else None


def outside_its_dialog(prints: Fingerprints, known: Fingerprint) -> tuple[Fingerprint, ...]:
    """Of what stood in a dialog: everything outside of dialogs, where one is open now. It surely is none of it."""
    if not _in_dialog(known):
        return ()
    seen = [each for _, each in prints.all()]
    return tuple(each for each in seen if not _in_dialog(each)) if any(map(_in_dialog, seen)) else ()


def _in_dialog(seen: Fingerprint) -> bool:
    return any(said.split(" ", 1)[0] == RegionKind.DIALOG for said in seen.region)
