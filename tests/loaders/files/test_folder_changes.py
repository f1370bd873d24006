"""Changes made in a folder's files read well in `git diff`, and load as what was wanted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from kb_schema import KnowledgeError, parse_document
from kb_schema.proposals import ScreenChange, SelectorChange, SignatureChange, TransitionChange
from kb_schema.screens import Signature
from kb_schema.selectors import css
from kb_store.proposals.accepted_changes import ScreenMissing, apply_change, contains_change
from loaders import read_knowledge_folder
from loaders.files.folder_changes import apply_changes

SEED = Path(__file__).parents[3] / "seeds/spadeworks/kb"
HEALED = SelectorChange(
    type="selector", screen_id="agent_edit", element_id="greeting_input", selector=css("#hello")
)
SHARED = SelectorChange(
    type="selector", screen_id="agent_edit", element_id="nav_agents", selector=css("#nav")
)
WAY = TransitionChange(
    type="transition",
    transition=parse_document(
        {"type": "transition", "_from": "login", "_to": "reports",
         "triggered_by": {"action_type": "click", "element_id": "sign_in_button"}}
    ),
)  # fmt: skip
REPORTS = ScreenChange(
    type="screen",
    screen=parse_document(
        {"type": "screen", "screen_id": "reports", "name": "Reports", "url_patterns": ["^/reports$"]}
    ),
)


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(SEED, tmp_path / "kb")


def differing(folder):
    """Lines gone and come, of each file that is another one than the seed's."""
    found = {}
    for file in sorted(folder.rglob("*.yaml")):
        name = str(file.relative_to(folder))
        old = (SEED / name).read_text().splitlines() if (SEED / name).exists() else []
        new = file.read_text().splitlines()
        if old != new:
            found[name] = ([x for x in old if x not in new], [x for x in new if x not in old])
    return found


def test_only_the_lines_of_the_change_change_wherever_the_element_is_written(folder):
    done = apply_changes(folder, [HEALED, SHARED])
    assert (done.changed, done.added, done.held) == (("screens/agent_edit.yaml", "website.yaml"), (), ())
    found = differing(folder)
    assert list(found) == ["screens/agent_edit.yaml", "website.yaml"]
    assert found["screens/agent_edit.yaml"] == (
        ["        - {type: id, value: greeting}",
         "        - {type: semantic, label_contains: Greeting, field_type: textarea}",
         "        - {type: placeholder, name: What callers hear first}"],
        ["        - {type: css, value: '#hello'}"],
    )  # fmt: skip
    assert all(contains_change(read_knowledge_folder(folder)[0], change) for change in (HEALED, SHARED))
    assert apply_changes(folder, [HEALED]).held == (HEALED,)


def test_a_signature_in_another_spelling_keeps_it_where_it_says_the_same(folder):
    knowledge, _ = read_knowledge_folder(folder)
    known = knowledge.signatures["dashboard"]
    plain = Signature(**{name: getattr(known, name) for name in Signature.model_fields})
    change = SignatureChange(
        type="signature",
        screen_id="dashboard",
        signature=plain.model_copy(update={"confidence_threshold": 0.8}),
    )
    apply_changes(folder, [change])
    assert differing(folder) == {
        "signatures/dashboard.yaml": (["confidence_threshold: 0.7"], ["confidence_threshold: 0.8"])
    }


def test_a_new_screen_and_the_way_to_it_are_new_files(folder):
    with pytest.raises(ScreenMissing):
        apply_changes(folder, [HEALED, WAY])
    assert differing(folder) == {}
    done = apply_changes(folder, [REPORTS, WAY])
    assert done.added[0] == "screens/reports.yaml"
    assert done.added[1].startswith("transitions/login.to.reports.click.")
    wanted = apply_change(apply_change(read_knowledge_folder(SEED)[0], REPORTS)[0], WAY)[0]
    assert list(read_knowledge_folder(folder)[0].documents()) == list(wanted.documents())


def test_what_would_break_the_knowledge_changes_no_file(folder):
    bare = ScreenChange(
        type="screen", screen=parse_document({"type": "screen", "screen_id": "login", "name": "x"})
    )
    with pytest.raises(KnowledgeError, match="sign_in_button"):
        apply_changes(folder, [HEALED, bare])
    assert differing(folder) == {}


def test_documents_of_lists_and_of_json_are_edited_where_they_are(tmp_path):
    folder = tmp_path / "kb"
    (folder / "screens").mkdir(parents=True)
    (folder / "website.yaml").write_text("website_id: shop\nname: Shop\nbase_url: https://shop.example\n")
    (folder / "screens/two.yaml").write_text(
        "- screen_id: one   # first\n  name: One\n  url_patterns: ['^/one$']\n"
        "- screen_id: two\n  name: Two\n  url_patterns: ['^/two$']\n"
    )
    (folder / "screens/three.json").write_text(
        '{"screen_id": "three", "name": "Three", "url_patterns": ["^/3$"]}'
    )
    changes = [
        ScreenChange(
            type="screen",
            screen=parse_document(
                {"type": "screen", "screen_id": each, "name": "New", "url_patterns": [pattern]}
            ),
        )
        for each, pattern in (("one", "^/one$"), ("two", "^/two$"), ("three", "^/3$"))
    ]
    done = apply_changes(folder, changes)
    assert done.changed == ("screens/three.json", "screens/two.yaml")
    assert (folder / "screens/two.yaml").read_text() == (
        "- screen_id: one   # first\n  name: New\n  url_patterns: ['^/one$']\n"
        "- screen_id: two\n  name: New\n  url_patterns: ['^/two$']\n"
    )
    assert '"name": "New"' in (folder / "screens/three.json").read_text()


def test_of_several_changes_in_one_json_file_none_is_lost(tmp_path):
    folder = tmp_path / "kb"
    (folder / "screens").mkdir(parents=True)
    (folder / "website.yaml").write_text("website_id: shop\nname: Shop\nbase_url: https://shop.example\n")
    screens = [{"screen_id": each, "name": "Old", "url_patterns": [f"^/{each}$"]} for each in ("one", "two")]
    (folder / "screens/both.json").write_text(json.dumps(screens))
    changes = [
        ScreenChange(type="screen", screen=parse_document({"type": "screen", **each, "name": "New"}))
        for each in screens
    ]
    apply_changes(folder, changes)
    assert [each.name for each in read_knowledge_folder(folder)[0].screens.values()] == ["New", "New"]
