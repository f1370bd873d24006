"""Small knowledge bases with every kind in them, all of one version so that a torn one shows."""

from __future__ import annotations

from typing import Any

from kb_schema import KnowledgeBase, SourcedDocument, assemble, parse_document


def documents_of(website_id: str = "shop", *, version: str = "old", screens: int = 4) -> list[dict[str, Any]]:
    """JSON documents whose every description or name says `version`."""
    note = {"metadata": {"version": version}}
    ids = [f"screen_{number}" for number in range(screens)]
    documents: list[dict[str, Any]] = [
        {"type": "website", "website_id": website_id, "name": version, "base_url": "https://shop.example", **note},
        {"type": "state_signature", "screen_id": "bare", "indicators": {
            "primary": [{"type": "title_contains", "value": "Bare"}]}, **note},
        {"type": "screen", "screen_id": "bare", "name": version, **note},
        {"type": "action", "action_id": "buy", "name": version, "execution_steps": [
            {"step": 1, "action": "click", "target": "#buy"}], **note},
        {"type": "task", "task_id": "order", "name": version, "steps": [
            {"action": {"action_type": "click", "target": "go"}},
            {"action": {"action_type": "click", "target": {"strategies": [{"type": "css", "value": "#pay"}]},
                        "fingerprint": {"role": "button", "name": "Pay"}}}], **note},
        {"type": "task", "task_id": "order_all", "name": version, "steps": [
            {"action": {"action_type": "run_task", "task_id": "order"}}], **note},
        {"type": "presentation_flow", "flow_id": "tour", "name": version, "segments": [
            {"segment_id": "hello", "type": "conversational", "narration_template": "Hello"}], **note},
        {"type": "error_recovery", "recovery_id": "again", "conditions": ["timeout"], "strategies": [
            {"recovery": "retry"}], **note},
        {"type": "workflow", "workflow_id": "routine", "name": version, "unverified": True, "nodes": [
            {"node_id": "one", "type": "task", "task_id": "order"}], **note},
        {"type": "screen_group", "group_id": "all", "name": version, **note},
        {"type": "composes", "_from": "task/order_all", "_to": "task/order", **note},
        {"type": "triggers", "_from": "action/buy", "_to": "transition/t_0", **note},
        {"type": "global_recovery", "_from": "groups/all", "_to": "screen/screen_0", "triggered_by": {
            "action_type": "navigate", "url": "https://shop.example/"}, **note},
    ]  # fmt: skip
    for number, screen_id in enumerate(ids):
        documents += [
            {"type": "screen", "screen_id": screen_id, "name": version, "url_patterns": [f"^/{screen_id}$"],
             "ui_elements": [{"element_id": "go", "type": "button", "selector": "#go"}], **note},
            {"type": "belongs_to", "_from": f"screen/{screen_id}", "_to": "screen_group/all", **note},
            {"type": "transition", "transition_id": f"t_{number}", "_from": f"screen/{screen_id}",
             "_to": f"screen/{ids[(number + 1) % screens]}",
             "triggered_by": {"action_type": "click", "element_id": "go"}, **note},
        ]  # fmt: skip
    return documents


def knowledge_of(website_id: str = "shop", *, version: str = "old", screens: int = 4) -> KnowledgeBase:
    """The documents, checked."""
    documents = documents_of(website_id, version=version, screens=screens)
    return assemble([SourcedDocument(parse_document(document)) for document in documents])[0]


def version_of(knowledge: KnowledgeBase) -> str:
    """The one version all documents are of. Fails where they are not of one."""
    versions = {str(document.metadata["version"]) for document in knowledge.documents()}
    assert len(versions) == 1, f"torn: {versions}"
    return versions.pop()
