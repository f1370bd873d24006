"""Files that cannot be read as knowledge: every one is named, with its place and a way out."""

from __future__ import annotations

import pytest

from kb_schema import KnowledgeError
from loaders import read_folder, write_folder
from loaders.files import yaml_files
from tests.kb_store.sample_knowledge import knowledge_of

BAD = {
    "a key twice": ("tasks/t.yaml", "type: task\ntask_id: a\ntask_id: b\n", "'task_id' occurs twice (line 3, column 1)", "keep one"),
    "a key twice in JSON": ("tasks/t.json", '{"a": 1, "a": 2}', "'a' occurs twice", "keep one"),
    "a colon in a text": ("tasks/t.yaml", "name: one: two\n", "(line 1, column 10)", "in quotes"),
    "an open quote": ("tasks/t.yaml", "name: 'one\n", "is not YAML", None),
    "a tab": ("tasks/t.yaml", "steps:\n\t- a\n", "line 2", None),
    "a comma too many in JSON": ("tasks/t.json", '{"a": 1,}', "(line 1, column", None),
    "a Python object": ("tasks/t.yaml", "!!python/object/apply:os.system ['true']", "could not determine", "plain values"),
    "two documents": ("tasks/t.yaml", "a: 1\n---\nb: 2\n", "another document", "one document, or a list"),
    "a list as a key": ("tasks/t.yaml", "? [a]\n: b\n", "a key must be a word", None),
    "a control character": ("tasks/t.yaml", "a: \x07\n", "control characters", "remove"),
    "not UTF-8": ("tasks/t.yaml", b"a: \xff\n", "not UTF-8", "save it as UTF-8"),
    "an alias inside itself": ("tasks/t.yaml", "a: &x [*x]\n", "an alias is inside", "write it out"),
    "brackets without end": ("tasks/t.yaml", "[" * 5_000, "nested more than", None),
    "brackets without end in JSON": ("tasks/t.json", "[" * 100_000, "nested more than", None),
    "not a number": ("tasks/t.json", '{"a": NaN}', "NaN is no JSON number", "finite"),
    "a number past all bounds": ("tasks/t.yaml", f"a: {'9' * 400}\n", "64 bits", "in quotes"),
    "a number past a double": ("tasks/t.json", '{"a": 1e999}', "too large", "in quotes"),
    "half a character": ("tasks/t.json", '{"a": "\\ud800"}', "half a character", "remove"),
    "an unknown folder": ("screns/s.yaml", "a: 1", "unknown folder 'screns'", 'did you mean "screens"'),
    "a document in another kind's folder": (
        "tasks/t.yaml", "type: screen\nscreen_id: s\nname: s\n", "is a screen, but its place is for a task", "screens/"),
    "a word": ("tasks/t.yaml", "hello", "expected an object", None),
    "nothing": ("tasks/t.yaml", "", "expected an object", None),
    "a document that does not say what it is": ("loose.yaml", "colour: red", "unknown kind", "add a `type`"),
    "an unknown type": ("loose.yaml", "type: scren", "unknown type 'scren'", 'did you mean "screen"'),
    "a missing field": ("screens/s.yaml", "screen_id: s", "'name' is missing", None),
    "an unknown field": ("screens/s.yaml", "screen_id: s\nname: s\nurl_pattern: x", "unknown field 'url_pattern'", "url_patterns"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_named_with_the_place_and_the_fix(tmp_path, name):
    file, content, message, fix = BAD[name]
    write_folder(knowledge_of(), tmp_path)
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(KnowledgeError) as caught:
        read_folder(tmp_path)
    problems = caught.value.problems
    assert {problem.source for problem in problems} == {file}
    assert any(message in problem.message for problem in problems), problems
    assert fix is None or any(fix in (problem.fix or "") for problem in problems), problems


def test_all_problems_of_all_files_are_told_at_once(tmp_path):
    write_folder(knowledge_of(), tmp_path)
    for file, content in (
        ("screens/one.yaml", "screen_id: one\nname: 3\nui_elements: [{element_id: x}]"),
        ("screens/two.json", '{"screen_id": '),
        (
            "transitions/many.yaml",
            "- {_from: a, _to: b}\n- {_from: a, _to: b, triggered_by: {action_type: 7}}\n",
        ),
    ):
        (tmp_path / file).write_text(content)
    with pytest.raises(KnowledgeError) as caught:
        read_folder(tmp_path)
    found = {(problem.source, problem.path) for problem in caught.value.problems}
    assert found == {
        ("screens/one.yaml", "$.name"),
        ("screens/one.yaml", "$.ui_elements[0].type"),
        ("screens/one.yaml", "$.ui_elements[0].selector"),
        ("screens/two.json", "$"),
        ("transitions/many.yaml[0]", "$.triggered_by"),
        ("transitions/many.yaml[1]", "$.triggered_by.action_type"),
    }


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(KnowledgeError, match="there is no such folder"):
        read_folder(tmp_path / "nowhere")


def test_a_folder_without_knowledge_says_what_one_looks_like(tmp_path):
    with pytest.raises(KnowledgeError, match=r"website\.yaml"):
        read_folder(tmp_path)


def test_a_file_in_the_folders_place_is_named(tmp_path):
    (tmp_path / "kb").write_text("x")
    with pytest.raises(KnowledgeError, match="is not a folder"):
        read_folder(tmp_path / "kb")


def test_aliases_that_unfold_without_end_are_refused_quickly(tmp_path):
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdefghijklmno", "bcdefghijklmnop", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]")
    write_folder(knowledge_of(), tmp_path)
    (tmp_path / "tasks/bomb.yaml").write_text("\n".join(lines))
    with pytest.raises(KnowledgeError, match="use fewer aliases"):
        read_folder(tmp_path)


def test_a_file_past_the_bound_is_not_even_read(tmp_path, monkeypatch):
    monkeypatch.setattr(yaml_files, "MAX_BYTES", 1_000)
    write_folder(knowledge_of(), tmp_path)
    (tmp_path / "tasks/big.yaml").write_text("x" * 1_001)
    with pytest.raises(KnowledgeError, match="split it"):
        read_folder(tmp_path)
