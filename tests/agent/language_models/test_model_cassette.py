"""A cassette keeps a provider's answers without the key, and answers the same requests again without the provider."""

from __future__ import annotations

import pytest

from agent.inferencer import InferenceFailed, ModelInferencer
from tests.support.model_cassette import serve_cassette
from tests.support.model_server import Answer, serve_model

KEY = "sk-of-a-person-4711"


async def ask(name, prompt):
    return await ModelInferencer(name, key=KEY).infer(prompt)


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
async def test_what_was_recorded_is_answered_again_without_the_provider(tmp_path, protocol):
    file = tmp_path / "answers.jsonl"
    with serve_model([Answer("Good morning"), Answer("Good evening")]) as provider:
        with serve_cassette(file, provider.address) as recording:
            name = getattr(recording, protocol)("gpt-5-mini")
            said = [await ask(name, "Greet at 127.0.0.1:4711"), await ask(name, "Greet again")]
        assert recording.recorded == len(provider.requests) == 2
        assert any(KEY in value for value in provider.requests[0].headers.values())
    kept = file.read_text()
    assert KEY not in kept
    with serve_cassette(file) as replaying:
        name = getattr(replaying, protocol)("gpt-5-mini")
        again = [await ask(name, "Greet at 127.0.0.1:9999"), await ask(name, "Greet again")]
        with pytest.raises(
            InferenceFailed, match="has no answer to this request: record it again, with a key"
        ):
            await ask(name, "Something else")
    assert again == said == ["Good morning", "Good evening"]
    assert (replaying.asked, replaying.missing) == (3, 1)
    assert file.read_text() == kept


async def test_an_error_of_the_provider_is_passed_on_and_not_kept(tmp_path):
    file = tmp_path / "answers.jsonl"
    with (
        serve_model([Answer(status=401)]) as provider,
        serve_cassette(file, provider.address) as recording,
        pytest.raises(InferenceFailed, match="401"),
    ):
        await ask(recording.openai("gpt-5-mini"), "Greet")
    assert not file.exists()
