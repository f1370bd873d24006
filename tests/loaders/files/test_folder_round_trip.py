"""A knowledge base as files: read, written, read again without a difference."""

from __future__ import annotations

import json
import stat

import pytest
import yaml

from kb_schema import KnowledgeError, Severity
from loaders import TargetFolderOccupied, read_knowledge_folder, write_folder
from loaders.diffs.knowledge_diff import diff_knowledge
from tests.kb_store.sample_knowledge import documents_of, knowledge_of


def _tree(folder):
    return {str(p.relative_to(folder)): p.read_text("utf-8") for p in folder.rglob("*") if p.is_file()}


def test_what_is_exported_and_read_again_does_not_differ(tmp_path):
    knowledge = knowledge_of()
    count = write_folder(knowledge, tmp_path / "kb")
    again, _ = read_knowledge_folder(tmp_path / "kb")
    assert not diff_knowledge(knowledge, again)
    assert again.by_kind == knowledge.by_kind
    assert count == len(list(knowledge.documents())) == len(_tree(tmp_path / "kb"))


def test_exporting_twice_gives_the_same_bytes(tmp_path):
    write_folder(knowledge_of(), tmp_path / "one")
    again, _ = read_knowledge_folder(tmp_path / "one")
    write_folder(again, tmp_path / "two")
    assert _tree(tmp_path / "one") == _tree(tmp_path / "two")


def test_files_say_what_they_are_and_leave_out_what_the_website_says_for_all(tmp_path):
    write_folder(knowledge_of(), tmp_path / "kb")
    website = yaml.safe_load((tmp_path / "kb/website.yaml").read_text())
    assert list(website)[:3] == ["type", "schema_version", "website_id"]
    screen = (tmp_path / "kb/screens/screen_0.yaml").read_text()
    assert screen.startswith("type: screen\nscreen_id: screen_0\nname: old\n")
    assert screen.endswith("metadata:\n  version: old\n")
    assert "website_id" not in screen
    assert "schema_version" not in screen


def test_several_lines_are_written_as_several_lines(tmp_path):
    documents = documents_of()
    documents[0]["description"] = "First line: with a colon\n  indented\n\nlast"
    _write_json(tmp_path / "in", documents)
    knowledge, _ = read_knowledge_folder(tmp_path / "in")
    write_folder(knowledge, tmp_path / "out")
    text = (tmp_path / "out/website.yaml").read_text()
    assert "description: |-\n  First line: with a colon\n    indented\n\n  last\n" in text
    assert read_knowledge_folder(tmp_path / "out")[0].website.description == documents[0]["description"]


def test_a_file_may_hold_a_list_and_may_be_json_or_yaml(tmp_path):
    _write_json(tmp_path, documents_of())
    assert read_knowledge_folder(tmp_path)[0].by_kind == knowledge_of().by_kind


def test_the_folder_says_the_kind_where_a_document_does_not(tmp_path):
    write_folder(knowledge_of(), tmp_path / "kb")
    for file in (tmp_path / "kb").rglob("*.yaml"):
        data = yaml.safe_load(file.read_text())
        if file.parent.name != "dependencies":  # composes or depends_on: only the author knows
            del data["type"]
        for end in ("_from", "_to"):
            if end in data:
                data[end] = data[end].rpartition("/")[2]
        file.write_text(yaml.safe_dump(data))
    assert read_knowledge_folder(tmp_path / "kb")[0].by_kind == knowledge_of().by_kind


def test_other_files_and_hidden_ones_are_left_alone(tmp_path):
    write_folder(knowledge_of(), tmp_path)
    (tmp_path / "README.md").write_text("# not YAML: [")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache/x.yaml").write_text("{")
    assert read_knowledge_folder(tmp_path)[0].by_kind == knowledge_of().by_kind


def test_documents_without_a_version_are_of_the_websites_version(tmp_path):
    write_folder(knowledge_of(), tmp_path)
    website = yaml.safe_load((tmp_path / "website.yaml").read_text())
    (tmp_path / "website.yaml").write_text(yaml.safe_dump({**website, "schema_version": 3}))
    with pytest.raises(KnowledgeError, match="25 documents are of schema_version 3") as refused:
        read_knowledge_folder(tmp_path)
    assert len(refused.value.problems) == 1


def test_warnings_come_back_beside_the_knowledge(tmp_path):
    write_folder(knowledge_of(), tmp_path)
    _, warnings = read_knowledge_folder(tmp_path)
    assert all(warning.severity is Severity.WARNING for warning in warnings)


# -- where it is written


def test_an_earlier_export_is_replaced_whole(tmp_path):
    write_folder(knowledge_of(screens=9), tmp_path / "kb")
    (tmp_path / "kb").chmod(0o750)
    write_folder(knowledge_of(screens=2), tmp_path / "kb")
    assert not (tmp_path / "kb/screens/screen_8.yaml").exists()
    assert stat.S_IMODE((tmp_path / "kb").stat().st_mode) == 0o750
    assert [entry.name for entry in tmp_path.iterdir()] == ["kb"]


@pytest.mark.parametrize("stranger", ["notes.txt", "screens/notes.txt", "src/website.yaml", "task.yaml"])
def test_a_folder_that_holds_something_else_is_not_overwritten(tmp_path, stranger):
    write_folder(knowledge_of(version="old"), tmp_path / "kb")
    (tmp_path / "kb" / stranger).parent.mkdir(exist_ok=True)
    (tmp_path / "kb" / stranger).write_text("mine")
    before = _tree(tmp_path / "kb")
    with pytest.raises(TargetFolderOccupied):
        write_folder(knowledge_of(version="new"), tmp_path / "kb")
    assert _tree(tmp_path / "kb") == before


def test_what_does_not_belong_to_the_knowledge_is_kept_when_forced(tmp_path):
    target = tmp_path / "kb"
    write_folder(knowledge_of(version="old"), target)
    (target / "README.md").write_text("mine")
    (target / ".git").mkdir()
    (target / ".git/HEAD").write_text("mine too")
    (target / "screens/notes.txt").write_text("mine as well")
    write_folder(knowledge_of(version="new", screens=2), target, force=True)
    assert read_knowledge_folder(target)[0].by_kind == knowledge_of(version="new", screens=2).by_kind
    for name in ("README.md", ".git/HEAD", "screens/notes.txt"):
        assert (target / name).read_text().startswith("mine")


def test_a_file_is_never_taken_for_a_folder(tmp_path):
    (tmp_path / "kb").write_text("mine")
    with pytest.raises(TargetFolderOccupied):
        write_folder(knowledge_of(), tmp_path / "kb")


def test_a_crash_while_writing_leaves_the_old_export(tmp_path, monkeypatch):
    write_folder(knowledge_of(version="old"), tmp_path / "kb")
    before = _tree(tmp_path / "kb")

    def full(_data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("loaders.files.folder_writer.to_yaml", full)
    with pytest.raises(OSError, match="No space left"):
        write_folder(knowledge_of(version="new"), tmp_path / "kb")
    assert _tree(tmp_path / "kb") == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["kb"]


def test_ids_too_long_for_a_file_name_get_a_shorter_one(tmp_path):
    documents = documents_of()
    template = next(document for document in documents if document["type"] == "transition")
    del template["transition_id"]
    names = ["a" * 190, "a" * 189 + "b"]
    for number, name in enumerate(names):
        documents.append({"type": "screen", "screen_id": name, "name": name, "url_patterns": [f"^/{number}$"],
                          "ui_elements": [{"element_id": "go", "type": "link", "selector": "#go"}]})  # fmt: skip
        documents.append({**template, "_from": f"screen/{name}", "_to": f"screen/{names[0]}", "metadata": {}})
    documents = [document for document in documents if document["type"] != "triggers"]
    _write_json(tmp_path / "in", documents)
    knowledge, _ = read_knowledge_folder(tmp_path / "in")
    write_folder(knowledge, tmp_path / "out")
    assert read_knowledge_folder(tmp_path / "out")[0].by_kind == knowledge.by_kind
    assert max(len(file.name) for file in (tmp_path / "out").rglob("*")) < 200


def test_ids_that_differ_only_in_case_get_two_files(tmp_path):
    documents = [*documents_of(), {"type": "action", "action_id": "BUY", "name": "other"}]
    _write_json(tmp_path / "in", documents)
    knowledge, _ = read_knowledge_folder(tmp_path / "in")
    write_folder(knowledge, tmp_path / "out")
    names = [p.name.casefold() for p in (tmp_path / "out/actions").iterdir()]
    assert len(set(names)) == 2
    assert read_knowledge_folder(tmp_path / "out")[0].by_kind == knowledge.by_kind


def _write_json(folder, documents):
    folder.mkdir(exist_ok=True)
    (folder / "all.json").write_text(json.dumps(documents))


def test_a_broken_reference_names_the_file_the_place_and_the_fix(tmp_path):
    write_folder(knowledge_of(), tmp_path)
    file = tmp_path / "transitions/t_0.yaml"
    file.write_text(file.read_text().replace("_to: screen_1", "_to: screen_11"))
    with pytest.raises(KnowledgeError) as caught:
        read_knowledge_folder(tmp_path)
    (problem,) = [p for p in caught.value.problems if p.severity is Severity.ERROR]
    assert (problem.source, problem.path) == ("transitions/t_0.yaml", "$._to")
    assert 'did you mean "screen_1"?' in problem.fix
