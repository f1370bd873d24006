"""The model that `periplus verify --model` names is the one that explains root causes."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest
from rich.console import Console

from agent.inferencer import ModelInferencer
from periplus.language_model import MODEL_CALLS
from periplus.verification import verification_run
from periplus.verification.verification_batch import VerificationBatch
from tests.support.model_server import Answer, serve_model


class Seen(Exception):
    pass


@pytest.mark.parametrize(
    ("named", "configured", "asked"),
    [("test", None, True), (None, "test", True), (None, None, False)],
)
async def test_the_verifier_is_given_the_model_that_was_named(
    tmp_path, monkeypatch, named, configured, asked
):
    seen = []

    @asynccontextmanager
    async def opened(settings):
        seen.append(settings.inferencer)
        raise Seen
        yield

    monkeypatch.setattr(verification_run, "open_verifier", opened)
    monkeypatch.delenv("PERIPLUS_MODEL", raising=False)
    if configured:
        monkeypatch.setenv("PERIPLUS_MODEL", configured)
    batch = VerificationBatch(files=(), out=str(tmp_path), base_url="http://127.0.0.1:9", model=named)
    with pytest.raises(Seen):
        await verification_run.VerificationRun(batch, [], Console(), {}).done()
    assert isinstance(seen[0], ModelInferencer) is asked


async def test_each_call_of_a_verification_is_kept_in_its_folder(tmp_path, monkeypatch):
    @asynccontextmanager
    async def opened(settings):
        await settings.inferencer.infer_as("Why did it fail?", str, label="explain/1")
        raise Seen
        yield

    monkeypatch.setattr(verification_run, "open_verifier", opened)
    with serve_model([Answer("The button is gone.")]) as server:
        model = server.openai
        batch = VerificationBatch(files=(), out=str(tmp_path), base_url="http://127.0.0.1:9", model=model)
        for _ in range(2):  # the second one resumes the first
            with pytest.raises(Seen):
                await verification_run.VerificationRun(batch, [], Console(), {}).done()
    kept = [json.loads(line) for line in (tmp_path / MODEL_CALLS).read_text().splitlines()]
    assert [each["answer"] for each in kept] == ["The button is gone."] * 2
    assert kept[0]["use"]["calls"] == 1
