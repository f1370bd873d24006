"""`periplus import` and what `periplus synthesize` says of traces, as a person sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.synthesis.pipeline_config import SynthesisStrategy
from agent.synthesis.traces.named_rules import read_rule
from loaders.recordings import chrome_recorder
from periplus.commands.synthesis_options import read_prompt_templates
from periplus.errors import UserError
from periplus.synthesis.workflow_synthesis import SynthesisJudgement, induce_workflow
from tests.support import warm

STEPS = [
    {"type": "navigate", "url": "https://shop.test/login"},
    {"type": "change", "selectors": [["#password"]], "value": "open&sesame"},
    {"type": "click", "selectors": [['aria/Go[role="button"]']], "offsetX": 1, "offsetY": 1,
     "assertedEvents": [{"type": "navigation", "url": "https://shop.test/?p=open%26sesame", "title": ""}]},
    {"type": "click", "selectors": [["#done"]], "offsetX": 1, "offsetY": 1},
    {"type": "customStep", "name": "x", "parameters": {}},
]  # fmt: skip


def _flow(folder: Path, name: str, steps: object) -> str:
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"title": "Go there", "steps": steps}))
    return str(file)


def test_imported_traces_hold_no_secret_tell_what_was_left_out_and_become_a_workflow(tmp_path):
    files = [_flow(tmp_path, name, STEPS) for name in ("one", "two")]
    out = tmp_path / "traces"
    done = warm.run("periplus", *["import", *files, files[0], "--out", str(out)])
    assert done.returncode == 2, "a step was left out, and the rest is imported"
    assert "3 parts of the recordings left out" in done.stderr
    assert sorted(each.name for each in out.iterdir()) == ["one", "one-2", "two"]
    assert "line 1, steps[4]: steps of type 'customStep' cannot be read" in done.stdout
    assert "1 with a secret" in done.stdout
    written = [file for file in out.rglob("*") if file.is_file()]
    assert len(written) == 6
    assert not [file for file in written if b"sesame" in file.read_bytes()]

    (tmp_path / "notes.txt").write_text("hello")
    partly = warm.run("periplus", *["import", str(tmp_path / "notes.txt"), files[0], "--out", str(out)])
    assert (partly.returncode, "line 1" in partly.stderr) == (2, True), partly.stderr
    assert (out / "one-3/manifest.json").exists()
    (out / "one-3/manifest.json").write_text("{")

    made = warm.run(
        "periplus", *["synthesize", str(out), "--name", "Go there", "--out", str(tmp_path / "made")]
    )
    assert made.returncode == 0, made.stderr
    assert "4 traces read, 3 used" in made.stdout
    assert "the turns that are there were read" in made.stdout
    workflow = json.loads((tmp_path / "made/workflow.json").read_text())
    assert [(each["name"], each["secret"]) for each in workflow["io_spec"]["inputs"]] == [("password", True)]
    page = (tmp_path / "made/report.html").read_text()
    assert "a secret: traces do not contain it" in page
    assert "one-2" in page


async def test_a_model_is_asked_where_it_is_said_and_named():
    trace = chrome_recorder.read({"title": "Go there", "steps": STEPS}, Path("one.json"))[0].trace
    by_model = SynthesisJudgement(SynthesisStrategy.LLM, model="test")  # it answers, but not what was asked
    report = (await induce_workflow([trace], "go", "", by_model)).synthesis_report
    assert report.synthesis_strategy == "llm"
    assert [each.partition(";")[2] for each in report.warnings] == [" the rule's decision is used"] * 4
    for judgement, told in (
        (
            SynthesisJudgement(SynthesisStrategy.HYBRID),
            "a language model is required, but none is configured",
        ),
        (SynthesisJudgement(evaluation="llm_judge", model="no:such"), "Unknown model: no:such"),
        (
            SynthesisJudgement(evaluation="llm_judge", model="test"),
            "expected a score from 0 to 1 in the model's answer",
        ),
        (SynthesisJudgement(min_success_traces=2), "1/1 passed evaluation, but 2 required"),
    ):
        with pytest.raises(UserError, match=told):
            await induce_workflow([trace], "go", "", judgement)


def test_traces_that_do_not_show_one_task_are_refused_with_their_names(tmp_path):
    other = [{"type": "navigate", "url": "https://b.test/"}] + [
        {"type": "click", "selectors": [[f"#k{number}"]], "offsetX": 1, "offsetY": 1} for number in range(4)
    ]
    out = str(tmp_path / "traces")
    files = [_flow(tmp_path, "one", STEPS[:-1]), _flow(tmp_path, "two", other)]
    assert warm.run("periplus", *["import", *files, "--out", out]).returncode == 0
    refused = warm.run("periplus", *["synthesize", out, "--name", "x", "--out", str(tmp_path / "made")])
    assert refused.returncode == 2
    assert "(one, two)" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_what_is_no_recording_or_no_trace_is_one_clear_error(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("hello")
    for command, told in (
        (["import", str(file)], "line 1"),
        (["import", str(tmp_path / "nowhere")], "does not exist"),
        (
            ["synthesize", str(tmp_path), "--name", "x", "--strategy", "hybrid", "--judge"],
            "contains no trace",
        ),
        (["record", "nowhere"], "is not a web address"),
    ):
        done = warm.run("periplus", *command)
        assert (done.returncode, told in done.stderr) == (2, True), done.stderr


async def test_the_minimum_score_and_the_prompts_of_a_model_are_options(tmp_path, monkeypatch):
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "evaluation.jinja").write_text("judge {{ trace_id }}")
    assert read_prompt_templates(tmp_path / "prompts") == {"evaluation": "judge {{ trace_id }}"}
    out = str(tmp_path / "traces")
    assert warm.run("periplus", "import", _flow(tmp_path, "one", STEPS[:-1]), "--out", out).returncode == 0
    command = ["periplus", "synthesize", out, "--name", "x", "--out", str(tmp_path / "made"), "--judge"]
    asked = warm.run(*command, "--model", "test", "--prompts", str(tmp_path / "prompts"))
    assert "expected a score from 0 to 1" in asked.stderr  # of a model that answers, but not what was asked
    (tmp_path / "prompts" / "evaluation.jinja").write_text("judge {{")
    broken = warm.run(*command, "--model", "test", "--prompts", str(tmp_path / "prompts"))
    assert (broken.returncode, "evaluation" in broken.stderr) == (2, True)
    (tmp_path / "prompts" / "evaluate.jinja").write_text("judge")
    unknown = warm.run(*command, "--prompts", str(tmp_path / "prompts"))
    assert (unknown.returncode, "evaluate.jinja" in unknown.stderr) == (2, True)
    assert warm.run(*command, "--min-score", "2").returncode == 2
    trace = chrome_recorder.read({"title": "Go there", "steps": STEPS}, Path("one.json"))[0].trace
    monkeypatch.setattr(SynthesisJudgement, "inferencer", lambda _: _Judge())
    strict, mild = (SynthesisJudgement(evaluation="llm_judge", min_score=score) for score in (0.6, 0.4))
    assert (await induce_workflow([trace], "go", "", mild)).graph is not None
    with pytest.raises(UserError, match="0/1 passed evaluation") as told:
        await induce_workflow([trace], "go", "", strict)
    assert "the model's score is 0.50, 0.60 is needed" in told.value.message
    assert "--min-score" in told.value.fix


async def test_a_failed_run_is_not_used_whatever_rules_or_a_model_say_of_it(monkeypatch):
    good = chrome_recorder.read({"title": "Go there", "steps": STEPS}, Path("one.json"))[0].trace
    failed = good.model_copy(update={"trace_id": "failed", "success": False, "error": "the page is gone"})
    monkeypatch.setattr(SynthesisJudgement, "inferencer", lambda _: _Judge())
    for judgement in (
        SynthesisJudgement(evaluation="rule_based", rules=(read_rule("max-steps=99"),)),
        SynthesisJudgement(evaluation="rule_based", rules=(read_rule("warn:max-steps=99"),)),
        SynthesisJudgement(evaluation="llm_judge", min_score=0.4),
    ):
        result = await induce_workflow([good, failed], "go", "", judgement)
        assert [each.reason for each in result.evaluation_results] == ["", "the page is gone"]


class _Judge:
    async def infer(self, _prompt: str) -> str:
        return '{"score": 0.5}'
