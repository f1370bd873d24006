"""Models over real HTTP: both protocols, errors, rate limits, garbage; and no more than the budget."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import BaseModel

from agent import telemetry
from agent.inferencer import InferenceFailed, ModelInferencer
from agent.language_models import metered_model
from agent.language_models.model_budget import ModelBudget, ModelMeter
from agent.language_models.model_names import ModelName, ModelUnavailable, parse_model_name
from tests.support.model_server import Answer, serve_model


class Town(BaseModel):
    name: str
    people: int


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
async def test_a_text_is_answered_counted_and_priced(protocol):
    with serve_model([Answer("Delft", usage=(1_000, 10))]) as server:
        model = ModelInferencer(getattr(server, protocol), key="key-of-the-endpoint")
        assert await model.infer("Which town?") == "Delft"
    use = model.meter.use
    assert (use.calls, use.input_tokens, use.output_tokens) == (1, 1_000, 10)
    prices = {"openai": 1_000 * 0.25e-6 + 10 * 2e-6, "anthropic": 1_000 * 1e-6 + 10 * 5e-6}
    assert use.cost_usd == pytest.approx(prices[protocol])
    (asked,) = server.requests
    assert asked.path == {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}[protocol]
    assert "key-of-the-endpoint" in asked.headers.get("authorization", "") + asked.headers.get(
        "x-api-key", ""
    )
    assert asked.max_tokens == metered_model.MOST_ANSWER


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
async def test_an_answer_of_the_wrong_form_is_asked_for_once_more(protocol):
    answers = [Answer(tool={"name": "Delft"}), Answer(tool={"name": "Delft", "people": 106_000})]
    with serve_model(answers) as server:
        model = ModelInferencer(getattr(server, protocol))
        assert await model.infer_as("Which town?", Town) == Town(name="Delft", people=106_000)
    assert model.meter.use.calls == len(server.requests) == 2


async def test_a_second_wrong_form_is_an_error():
    with serve_model([Answer(tool={"town": 1})]) as server:
        with pytest.raises(InferenceFailed):
            await ModelInferencer(server.openai).infer_as("Which town?", Town)
        assert len(server.requests) == 2


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=500),
        Answer(status=401),
        Answer(status=429, headers={"Retry-After": "0"}),
        Answer(raw=b"<html>not json</html>"),
        Answer(raw=b'{"id": 1}'),
        Answer(raw=b""),
        Answer(drop=True),
    ],
    ids=["500", "401", "429", "html", "other json", "empty", "dropped"],
)
async def test_errors_and_garbage_are_one_error_and_bounded_calls(protocol, answer, monkeypatch):
    monkeypatch.setattr(metered_model, "USUAL_WAIT_S", 0.0)
    with serve_model([answer]) as server:
        model = ModelInferencer(getattr(server, protocol))
        with pytest.raises(InferenceFailed, match="no usable answer from the model"):
            await model.infer("Which town?")
        assert 1 <= len(server.requests) == model.meter.use.calls <= metered_model.ATTEMPTS * 2


async def test_a_busy_provider_is_asked_again_after_the_time_it_names():
    with serve_model([Answer(status=429, headers={"Retry-After": "0"}), Answer("Delft")]) as server:
        model = ModelInferencer(server.openai)
        assert await model.infer("Which town?") == "Delft"
    assert [each.error for each in model.meter.records] == ["HTTP 429", None]


async def test_a_wait_that_is_too_long_is_not_waited_for():
    with serve_model([Answer(status=429, headers={"Retry-After": "3600"})]) as server:
        with pytest.raises(InferenceFailed):
            await ModelInferencer(server.openai).infer("Which town?")
        assert len(server.requests) == 1


async def test_nothing_is_sent_beyond_the_budget():
    with serve_model([Answer("Delft")]) as server:
        model = ModelInferencer(server.openai, meter=ModelMeter(ModelBudget(calls=2)))
        await model.infer("1")
        await model.infer("2")
        with pytest.raises(InferenceFailed, match="budget"):
            await model.infer("3")
        assert len(server.requests) == 2


async def test_a_model_without_a_price_is_refused_where_money_is_limited():
    with serve_model([Answer("Delft")]) as server:
        meter = ModelMeter(ModelBudget(cost_usd=1.0))
        name = f"openai:nobody-sells-this@{server.address.replace('127.0.0.1', '127.0.0.2')}/v1"
        with pytest.raises(InferenceFailed, match="price is unknown"):
            await ModelInferencer(name, meter=meter).infer("1")
        assert server.requests == []


async def test_secrets_leave_neither_in_the_request_nor_in_the_record():
    with serve_model([Answer("ok")]) as server:
        model = ModelInferencer(server.openai, redact=lambda text: text.replace("hunter-two", "•••"))
        await model.infer("the password is hunter-two")
    assert "hunter-two" not in server.requests[0].text
    assert "hunter-two" not in model.meter.records[0].model_dump_json()


async def test_each_call_is_a_span_by_the_conventions_for_models_without_its_text(monkeypatch):
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_TRACER", provider.get_tracer("periplus"))
    with serve_model([Answer("Delft", usage=(1_000, 10))]) as server:
        await ModelInferencer(server.openai).infer_as("Which town?", str, label="town/1")
    (call,) = exporter.get_finished_spans()
    assert call.name == "chat gpt-5-mini"
    assert dict(call.attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5-mini",
        "gen_ai.request.max_tokens": metered_model.MOST_ANSWER,
        "gen_ai.response.model": "gpt-5-mini",
        "gen_ai.usage.input_tokens": 1_000,
        "gen_ai.usage.output_tokens": 10,
        "periplus.prompt": "town/1",
    }


random_answers = st.one_of(
    st.builds(Answer, text=st.text(max_size=4_000)),
    st.builds(
        Answer, tool=st.dictionaries(st.sampled_from(["name", "people", "x"]), st.integers(), max_size=3)
    ),
    st.builds(Answer, status=st.sampled_from([400, 429, 500, 503, 529])),
    st.builds(Answer, raw=st.binary(max_size=50)),
    st.just(Answer(drop=True)),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    answers=st.lists(random_answers, min_size=1, max_size=8),
    calls=st.integers(1, 6),
    tokens=st.integers(500, 9_000),
    cost=st.one_of(st.none(), st.floats(0.0001, 0.01)),
    prompts=st.lists(st.text(max_size=2_000), min_size=1, max_size=6),
)
def test_whatever_a_model_answers_a_run_has_spent_at_most_its_budget(answers, calls, tokens, cost, prompts):
    meter = ModelMeter(ModelBudget(calls, tokens, cost))

    async def ask(server):
        model = ModelInferencer(server.openai, meter=meter)
        for at, prompt in enumerate(prompts):
            with suppress(InferenceFailed):
                await model.infer_as(prompt, Town if at % 2 else str)

    with pytest.MonkeyPatch.context() as patch, serve_model(answers) as server:
        patch.setattr(metered_model, "USUAL_WAIT_S", 0.0)
        asyncio.run(ask(server))
    billed = sum(map(sum, server.billed))
    assert len(server.requests) == meter.use.calls <= calls
    assert billed <= meter.use.tokens <= tokens
    if cost is not None:
        assert meter.use.cost_usd <= cost + 1e-12


@pytest.mark.parametrize(
    "name", ["", "openai:", ":gpt", "groq:x@http://127.0.0.1/v1", "x@http://", "x@http:///v1"]
)
def test_a_wrong_name_is_told_with_an_example(name):
    with pytest.raises(ModelUnavailable) as failed:
        parse_model_name(name)
    assert failed.value.hint


def test_a_name_may_have_a_url_and_needs_no_provider_then():
    for name in ("openai:llama3:8b@http://127.0.0.1:11434/v1/", "openai:llama3:8b@http://127.0.0.1:11434/v1"):
        assert parse_model_name(name) == ModelName("openai", "llama3:8b", "http://127.0.0.1:11434/v1")
    assert parse_model_name("llama3@https://models.example.com").provider == "openai"
