"""A presentation flow in another language, and which of its texts have no translation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kb_schema.presentation_flows import DepthVariant, PresentationFlow, Segment, SegmentTranslation


def translate_flow(flow: PresentationFlow, language: str | None) -> PresentationFlow:
    """Return the flow in a language; texts without a translation stay as authored.

    `de` also serves `de-AT`. With None, or the flow's own language, the flow is returned unchanged.
    """
    found = find_translation(flow, language)
    if found is None:
        return flow
    own = flow.translations.get(found)
    changed: dict[str, Any] = {"bridging": {}} if own is None else {name: each for name, each in own if each}
    changed["segments"] = tuple(_translate_segment(segment, found) for segment in flow.segments)
    changed["transitions"] = tuple(_translate_texts(each, found) for each in flow.transitions)
    changed["fallback_paths"] = tuple(_translate_texts(each, found) for each in flow.fallback_paths)
    changed["answers"] = tuple(_translate_texts(each, found, "narration") for each in flow.answers)
    if flow.call_to_action is not None:
        changed["call_to_action"] = _translate_texts(flow.call_to_action, found, "label")
    if flow.lead_form is not None:
        changed["lead_form"] = flow.lead_form.translate(found)
    return flow.model_copy(update={**changed, "language": found})


def find_translation(flow: PresentationFlow, language: str | None) -> str | None:
    """Return the language among the flow's translations that serves the wanted one.

    None if the flow's own language serves it, or none does.
    """
    if language is None or language == flow.language:
        return None
    near = (language, language.split("-")[0])
    return next((each for each in near if each in flow.languages and each != flow.language), None)


def list_untranslated_texts(flow: PresentationFlow, language: str) -> Iterator[str]:
    """Return the JSON paths of the texts that have no translation in that language."""
    if language == flow.language:
        return
    for index, segment in enumerate(flow.segments):
        for path in _list_untranslated_in_segment(segment, language):
            yield f"$.segments[{index}].{path}"
    for field in ("transitions", "fallback_paths"):
        for index, each in enumerate(getattr(flow, field)):
            if each.narration_template and language not in each.translations:
                yield f"$.{field}[{index}].narration_template"
    for index, answer in enumerate(flow.answers):
        if language not in answer.translations:
            yield f"$.answers[{index}].narration"
    if flow.lead_form is not None:
        for path in flow.lead_form.list_untranslated(language):
            yield f"$.lead_form.{path}"


def _list_untranslated_in_segment(segment: Segment, language: str) -> Iterator[str]:
    words = segment.translations.get(language, SegmentTranslation())
    for name in ("title", "narration_template"):
        if getattr(segment, name) and not getattr(words, name):
            yield name
    for name, rule in segment.input_mapping.items():
        if rule.prompt and not words.prompts.get(name):
            yield f"input_mapping.{name}.prompt"
    for number, hook in enumerate(segment.narrative_hooks):
        if language not in hook.translations:
            yield f"narrative_hooks[{number}].narration"
    for depth, variant in segment.depths.items():
        translation = variant.translations.get(language, SegmentTranslation())
        if variant.narration_template and not translation.narration_template:
            yield f"depths.{depth}.narration_template"


def _translate_segment(segment: Segment, language: str) -> Segment:
    words = segment.translations.get(language)
    changed: dict[str, Any] = {
        "narrative_hooks": tuple(_translate_texts(h, language, "narration") for h in segment.narrative_hooks),
        "depths": {depth: _translate_variant(variant, language) for depth, variant in segment.depths.items()},
    }
    if words is not None:
        changed |= {n: getattr(words, n) for n in ("title", "narration_template") if getattr(words, n)}
        changed["input_mapping"] = {
            name: rule.model_copy(update={"prompt": words.prompts[name]}) if name in words.prompts else rule
            for name, rule in segment.input_mapping.items()
        }
    return segment.model_copy(update=changed)


def _translate_variant(variant: DepthVariant, language: str) -> DepthVariant:
    words = variant.translations.get(language)
    if words is None or not words.narration_template:
        return variant
    return variant.model_copy(update={"narration_template": words.narration_template})


def _translate_texts(each: Any, language: str, field: str = "narration_template") -> Any:
    words = each.translations.get(language)
    return each if words is None else each.model_copy(update={field: words.narration})
