"""Drafts the task that signs in from the forms with which an exploration did.

A login in steps asks for the name on one page and for the password on the next, which nobody sees who enters nothing. The steps of
such a task find their fields by themselves, as those of a recording do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kb_schema.explorations import Offer, SentSignInForm
from kb_schema.tasks import DRAFT, Task
from kb_schema.url_patterns import relative_path
from loaders.exploration_import.readable_ids import to_id_words
from loaders.exploration_import.task_drafts import SIGN_IN, SIGNED_IN


def draft_sign_in(sent: Sequence[SentSignInForm], base_url: str) -> Task:
    """Return the task. `sent`: the forms in their order. Raises `ValueError` if a control has no selector."""
    inputs = [
        {
            "name": to_id_words(name),
            "description": (field.label or field.name or name).rstrip(" :*"),
            "source": "global_context|user_input",
            "secret": field.kind == "password",
        }
        for form in sent
        for name, field in form.fields
    ]
    steps = [
        {**step, "order": order, "skip_when": [*step.get("skip_when", ()), SIGNED_IN]}
        for order, step in enumerate(_list_steps(sent, base_url), start=1)
    ]
    return Task.model_validate(
        {
            "task_id": SIGN_IN,
            "name": "Sign in",
            "description": "Sign in, with the forms that were sent to explore the website",
            "io_spec": {"inputs": inputs},
            "steps": steps,
            "success_criteria": [SIGNED_IN],
            "already_done_when": [SIGNED_IN],
            "metadata": {DRAFT: "written from the forms that were sent to explore the website"},
        }
    )


def _list_steps(sent: Sequence[SentSignInForm], base_url: str) -> Iterator[Mapping[str, Any]]:
    address = {"action_type": "navigate", "url": relative_path(sent[0].url, base_url)}
    yield {"step_id": "open", "type": "navigation", "action": address}
    for number, form in enumerate(sent, start=1):
        for name, field in form.fields:
            said = to_id_words(name)
            action = {"action_type": "fill", **_target(field), "value": f"{{{said}}}"}
            yield {"step_id": f"set_{said}", "type": "form_fill", "action": action}
        action = {"action_type": "click", **_target(form.button)}
        if number == len(sent):
            yield {"step_id": "send", "type": "submit", "action": action}
            continue
        asked = {"type": "element_visible", "element": _target(sent[number].fields[0][1])["target"]}
        # Some go on by themselves when the name was entered.
        yield {"step_id": f"next_{number}", "type": "navigation", "action": action, "skip_when": [asked]}


def _target(offer: Offer) -> dict[str, Any]:
    if offer.selector is None:
        raise ValueError(f"{offer.offer_id} has no selector")
    found = {"target": offer.selector.to_json()}
    return found if offer.fingerprint is None else {**found, "fingerprint": offer.fingerprint.to_json()}
