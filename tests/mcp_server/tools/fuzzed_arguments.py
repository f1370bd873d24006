"""What is worth trying as an argument of a tool, by its name, and what no answer may say."""

from __future__ import annotations

from hypothesis import strategies as st

from mcp_server.errors import KnowledgeServerError
from tests.mcp_server import pantry
from tests.support.hostile import anything, texts

FORBIDDEN = ("Traceback", "the server's log says why", "internal error")


def kinds_of(error):
    return {error, *(kind for each in error.__subclasses__() for kind in kinds_of(each))}


CODES = {kind.code for kind in kinds_of(KnowledgeServerError)}
KNOWLEDGE = pantry.knowledge()


def ids(*kinds):
    return st.sampled_from([each for kind in kinds for each in KNOWLEDGE.by_kind[kind]])


elements = st.sampled_from(sorted({e for s in KNOWLEDGE.screens for e in KNOWLEDGE.elements(s)}))
pages = st.sampled_from(
    [p.to_json() for p in (pantry.SHELF, pantry.NEW, pantry.EDIT, pantry.LOST, pantry.HELP)]
)
html = st.lists(
    st.sampled_from(["<div>", "</div>", "<p hidden>", "<table><tr>", "<select><option>", "<svg><a>", "<!--", "<template>",
                     "&#0;", "Your jars", "Label of the jar", '<input id="label" aria-invalid=true>', "<iframe srcdoc='<p>'>",
                     "<title>", "<script>", "<button id=delete>", "\0", "<pp-shadow-root>"]),
    max_size=12,
).map("".join)  # fmt: skip
urls = st.sampled_from(
    [f"{pantry.BASE}/jars", f"{pantry.BASE}/jars/new", "http://127.0.0.1:1/jars", "about:blank", "x"]
)
snapshots = st.one_of(
    pages,
    st.fixed_dictionaries(
        {"url": st.one_of(urls, texts)}, optional={"html": html, "text": texts, "title": texts}
    ),
)
strategies = st.one_of(
    st.builds(lambda kind, value: {"type": kind, "value": value},
              st.sampled_from(["css", "xpath", "id", "data-testid", "aria", "fallback_css", "xpath-text"]), texts),
    st.builds(lambda role, name: {"type": "role_name", "role": role, "name": name}, texts, texts),
    st.builds(lambda value: {"type": "parameterized_css", "template": value, "parameters": ["x"]}, texts),
)  # fmt: skip
selectors = st.one_of(texts, strategies, st.lists(strategies, max_size=3).map(lambda s: {"strategies": s}))
conditions = st.one_of(
    st.builds(lambda value: {"type": "dom_contains", "value": value}, texts),
    st.builds(lambda value: {"type": "url_matches", "pattern": value}, texts),
    st.builds(lambda value: {"type": "element_visible", "selector": value}, selectors),
    anything,
)
condition_lists = st.recursive(
    st.lists(conditions, max_size=3),
    lambda inner: inner.map(lambda each: [{"type": "any_of", "conditions": each}]),
    max_leaves=4,
)
signatures = st.dictionaries(
    st.sampled_from(
        ["required_indicators", "primary_indicators", "negative_indicators", "confidence_threshold"]
    ),
    condition_lists,
    max_size=3,
)
nodes = st.builds(
    lambda node_id, task_id: {"type": "task", "node_id": node_id, "task_id": task_id},
    texts,
    st.one_of(ids("task"), texts),
)
workflows = st.builds(
    lambda name, made: {"workflow_id": name, "name": name, "unverified": True, "nodes": made},
    st.sampled_from(["w1", "w2"]), st.lists(nodes, min_size=1, max_size=3),
)  # fmt: skip
KNOWN = {
    "website_id": st.just("pantry"),
    "screen_id": ids("screen"),
    "last_known_screen_id": ids("screen"),
    "from_screen": ids("screen"),
    "to_screen": ids("screen"),
    "target_screen": ids("screen"),
    "group_id": ids("screen_group"),
    "task_id": ids("task"),
    "step_id": st.sampled_from(["name_it", "keep_it", "step_1"]),
    "after_step": st.sampled_from(["name_it", "keep_it", "step_1"]),
    "action_id": ids("action"),
    "flow_id": ids("presentation_flow"),
    "transition_id": ids("transition"),
    "recovery_id": ids("global_recovery"),
    "element_id": elements,
    "strategy": st.just("css"),
    "outcome_id": st.sampled_from(["o1", "o2"]),
    "run_id": st.sampled_from(["r1", "r2", "latest"]),
    "kinds": st.lists(st.sampled_from(["screen", "task", "nothing"]), max_size=3),
    "error": st.sampled_from(["timeout", "validation_error", "Locator.click: Timeout 5000ms"]),
    "query": st.sampled_from(["jar", "shelf", "sgin in"]),
    "about": st.sampled_from(["jar", "marmalade"]),
    "facts": st.dictionaries(st.sampled_from(["authenticated", "x"]), anything, max_size=2),
    "snapshot": snapshots,
    "selector": selectors,
    "signature": signatures,
    "workflow": workflows,
}
