"""The model that `periplus verify --model` names is the one that explains root causes."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from rich.console import Console

from agent.inferencer import ModelInferencer
from periplus.verification import verification_run
from periplus.verification.verification_batch import VerificationBatch


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
