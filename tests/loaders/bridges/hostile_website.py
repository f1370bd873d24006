"""A small website whose every name is what the caller says."""

from __future__ import annotations

from kb_schema import KnowledgeBase, SourcedDocument, assemble, parse_document

NASTY = (
    '"]; click s0 call alert() //',
    "\\",
    'a" [URL="javascript:x"]; b -> c',
    "</node><script>alert(1)</script>",
    '"""\nimport os; os.system("x")\n"""',
    "`@everyone` ![x](http://evil.example)",
    "line\u2028separator \u202eturned \x00\x1b[31m",
    "{{7*7}} {x} %s ${y}",
    "]]>",
    "end",
)


def website_called(name: str) -> KnowledgeBase:
    """Two screens, a group and a way, all called so."""
    text = name if name.strip() else "x"
    selector = {"strategies": [{"type": "role_name", "role": "button", "name": text},
                               {"type": "data-testid", "value": text}]}  # fmt: skip
    element = {"element_id": "go", "type": "button", "selector": selector, "metadata": {"label": text}}
    documents = [
        {"type": "website", "website_id": "shop", "name": text, "base_url": "https://shop.example",
         "description": text},
        {"type": "screen", "screen_id": "one", "name": text, "url": f"https://shop.example/{text}",
         "ui_elements": [element], "state_signature": {"required_indicators": [
             {"type": "dom_contains", "value": text, "selector": "h1"}]}},
        {"type": "screen", "screen_id": "two", "name": text, "url_patterns": ["^/two$"]},
        {"type": "screen_group", "group_id": "all", "name": text},
        {"type": "belongs_to", "_from": "screen/one", "_to": "screen_group/all"},
        {"type": "transition", "_from": "screen/one", "_to": "screen/two", "description": text,
         "triggered_by": {"action_type": "click", "element_id": "go"}},
        {"type": "task", "task_id": "order", "name": text, "steps": [
            {"action": {"action_type": "click", "target": "go"}}]},
    ]  # fmt: skip
    return assemble([SourcedDocument(parse_document(each)) for each in documents])[0]
