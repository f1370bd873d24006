"""Context-First: every source, alternatives in order, what is kept how long, what is got once more."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, timedelta

import pytest
from pydantic import TypeAdapter, ValidationError

from agent.errors import InputMissing, NoPath, PersonNeeded
from agent.execution.values.input_resolution import MISSING, map_inputs, refresh_inputs, resolve_inputs
from agent.execution.values.value_generators import GENERATORS
from agent.execution.values.value_sources import SOURCES
from agent.run_context import RunContext, TimestampedValues
from kb_schema.io_specs import SOURCES as NAMED
from kb_schema.io_specs import InputMapping
from kb_schema.tasks import Task

READ = {"method": "dom_extraction", "selector": "#code"}


@dataclass
class Asker:
    """A person with an answer for some names."""

    answers: dict = field(default_factory=dict)
    asked: list = field(default_factory=list)

    async def ask(self, name, prompt, *, secret):
        self.asked.append((name, prompt, secret))
        return self.answers.get(name)


@dataclass
class World:
    """A context with a clock, a person, and a page that shows another value every time."""

    shows: list = field(default_factory=list)
    now: float = 0.0
    asker: Asker = field(default_factory=Asker)
    inputs: tuple = ()
    """Inputs of the task into which values are mapped."""

    def __post_init__(self):
        self.context = RunContext(asker=self.asker)
        self.context.clock = lambda: self.now
        self.context.session = TimestampedValues(clock=lambda: self.now)
        self.context.global_values = TimestampedValues(clock=lambda: self.now)
        self.sources = {}

    async def scrape(self, _rule, _values):
        return self.shows.pop(0) if self.shows else MISSING

    async def resolve(self, *inputs, given=None, task_id="t", built_ins=None, **io_spec):
        return await resolve_inputs(
            _task(*inputs, task_id=task_id, **io_spec), given or {}, self.context, scrape=self.scrape,
            tell=self.sources.__setitem__, built_ins=built_ins,
        )  # fmt: skip

    async def map(self, **rules):
        mapping = TypeAdapter(dict[str, InputMapping]).validate_python(rules)
        return await map_inputs(
            mapping, self.context, scrape=self.scrape, built_ins={"run_id": "r1"}, inputs=self.inputs
        )


def _task(*inputs, task_id="t", **io_spec):
    step = {"step_id": "s", "action": "no_op"}
    return Task.model_validate(
        {"task_id": task_id, "steps": [step], "io_spec": {"inputs": inputs, **io_spec}}
    )


@pytest.fixture
def world():
    return World()


def test_every_source_that_knowledge_may_name_is_registered():
    assert set(SOURCES) == set(NAMED)


async def _everywhere(world):
    """A value in every place, each telling where it is from."""
    world.context.outputs = {"old": {"x": "old task"}, "new": {"x": "new task"}}
    world.context.session["x"] = "session"
    world.context.global_values["x"] = "global"
    world.asker.answers["x"] = "person"
    world.shows = ["page"] * 9


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"source": "task_context"}, "new task"),
        ({"source": "task_output"}, "new task"),
        ({"source": "task_context", "from_task": "old"}, "old task"),
        ({"source": "task_context", "from_task": "old", "from_output": "x"}, "old task"),
        ({"source": "session_context"}, "session"),
        ({"source": "global_context"}, "global"),
        ({"source": "context"}, "new task"),
        ({"source": "user_input"}, "person"),
        ({"source": "hardcoded", "value": "fixed"}, "fixed"),
        ({"source": "fixed", "value": "fixed"}, "fixed"),
        ({"source": "generated_value", "generator": "human_name", "value": "Agent Smith"}, "Agent Smith"),
        ({"source": "scraped", "extraction": READ}, "page"),
        ({"source": "template", "template": "{x} of {run_id}"}, "session of r1"),
        ({"source": "template"}, "session"),
        ({"source": "user_input|template|context"}, "person"),
        ({"source": "scraped|generated", "generator": "human_name", "extraction": READ}, "page"),
        ({"source": "hardcoded|session_context"}, "session"),
        ({}, "new task"),
    ],
)  # fmt: skip
async def test_a_tasks_input_comes_from_the_source_it_names(world, rule, expected):
    await _everywhere(world)
    assert (await world.resolve({"name": "x", **rule}, built_ins={"run_id": "r1"}))["x"] == expected


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"source": "task_output"}, "new task"),
        ({"source": "task_output", "task_id": "old"}, "old task"),
        ({"source": "task_output", "task_id": "old", "key": "none"}, None),
        ({"source": "session_context"}, "session"),
        ({"source": "global_context"}, "global"),
        ({"source": "user_input", "prompt": "Which?"}, "person"),
        ({"source": "hardcoded", "value": "fixed"}, "fixed"),
        ({"source": "generated_value", "value": "Agent Smith"}, "Agent Smith"),
        ({"source": "scraped", "extraction": READ}, "page"),
        ({"source": "template", "template": "{x}!", "transforms": [{"type": "uppercase"}]}, "SESSION!"),
        ({"source": "task_output|session_context", "task_id": "no_such"}, "session"),
        ({"source": ["task_output", "user_input"], "task_id": "no_such"}, "person"),
        ({"source": "task_output|generated", "task_id": "no_such", "value": "made up"}, "made up"),
        ({"source": "task_output", "task_id": "no_such", "default": "nobody"}, "nobody"),
    ],
)
async def test_a_segments_mapping_draws_from_the_same_sources(world, rule, expected):
    await _everywhere(world)
    assert (await world.map(x=rule)).get("x") == expected


async def test_a_mapped_value_of_the_session_is_as_old_as_the_tasks_input_allows(world):
    """KS 9.2: for `session_context` the volatility flag is checked."""
    mapped = {"source": "session_context|hardcoded", "value": "new"}
    world.inputs = _task({"name": "x", "volatility": "medium", "ttl_seconds": 60}).io_spec.inputs
    world.context.session["x"] = "old"
    world.now = 60.0
    assert await world.map(x=mapped) == {"x": "old"}
    world.now = 61.0
    assert await world.map(x=mapped) == {"x": "new"}


async def test_a_value_of_the_session_is_not_mapped_to_an_input_that_is_always_fetched_fresh(world):
    """The task resolves it itself, and again at the moment of use."""
    spec = {"name": "x", "source": "scraped", "extraction": READ, "refresh_on_use": True}
    world.inputs, world.shows = _task(spec).io_spec.inputs, ["first", "second"]
    world.context.session["x"] = "old"
    mapped = await world.map(x={"source": "session_context"})
    assert mapped == {}
    assert await world.resolve(spec) == {"x": "first"}
    assert await _refreshed(world, spec, given=mapped, x="first") == {"x": "second"}
    assert await world.map(x={"source": "task_output|hardcoded", "value": "said"}) == {"x": "said"}


async def test_a_mapping_may_use_what_was_mapped_before_it_and_persists_what_it_made(world):
    values = await world.map(
        first={
            "source": "hardcoded",
            "value": "ada",
            "transforms": [{"type": "capitalize"}],
            "persist_as": "who",
        },
        second={"source": "template", "template": "{first} ({run_id})"},
    )
    assert values == {"first": "Ada", "second": "Ada (r1)"}
    assert world.context.session["who"] == "Ada"


@pytest.mark.parametrize(
    "rule",
    [{"source": "hardcoded"}, {"source": "generated"}, {"source": "scraped"}, {"source": "template"},
     {"source": "a|b"}, {"source": ""}, {"source": []}, {}],
)  # fmt: skip
def test_a_mapping_without_what_its_source_needs_is_refused_when_it_is_written(rule):
    with pytest.raises(ValidationError):
        InputMapping.model_validate(rule)


async def test_what_the_caller_gives_goes_before_everything_and_defaults_come_last(world):
    await _everywhere(world)
    spec = {"name": "x", "source": "session_context", "default": "d"}
    assert await world.resolve(spec, given={"x": "given"}) == {"x": "given"}
    assert await world.resolve({**spec, "name": "y"}) == {"y": "d"}
    assert world.sources == {"x": "given", "y": "default"}


async def test_an_input_without_sources_goes_by_the_order_of_its_task(world):
    await _everywhere(world)
    for order, expected in (
        (["global_context", "session_context"], "global"),
        (["session_context", "global_context"], "session"),
        (["user_input", "task_context"], "person"),
    ):
        found = await world.resolve({"name": "x"}, variable_resolution={"resolution_order": order})
        assert found == {"x": expected}
        world.context.forget_fetched("t")
    world.context.outputs.clear()
    assert await world.resolve({"name": "x"}) == {"x": "session"}  # KS's own order
    del world.context.session["x"]
    assert await world.resolve({"name": "x"}) == {"x": "global"}
    del world.context.global_values["x"]
    assert await world.resolve({"name": "x"}) == {"x": "person"}


async def test_a_person_is_asked_in_order_for_what_is_required_only_and_never_twice(world):
    world.asker.answers = {"a": "Ada"}
    specs = (
        {"name": "a", "description": "Who", "source": "user_input|session_context"},
        {"name": "b", "source": "user_input", "default": "en"},
        {"name": "c", "source": "user_input", "required": False},
        {"name": "d", "source": "user_input", "required": False, "prompt": "Which one?"},
    )
    world.context.session["a"] = "older"
    assert await world.resolve(*specs) == {"a": "Ada", "b": "en", "c": "", "d": ""}
    assert world.asker.asked == [("a", "Who", False), ("d", "Which one?", False)]
    await world.resolve(specs[0])
    assert len(world.asker.asked) == 2
    assert world.sources["a"] == "cache"
    world.context.forget_fetched("t")  # it did not come out: perhaps because of what was said
    await world.resolve(specs[0])
    assert len(world.asker.asked) == 3


async def test_without_a_person_the_next_source_is_tried_and_then_the_input_is_missing(world):
    world.context.asker = None
    world.context.session["x"] = "session"
    assert await world.resolve({"name": "x", "source": "user_input|context"}) == {"x": "session"}
    with pytest.raises(InputMissing, match="'y'"):
        await world.resolve({"name": "y", "source": "user_input|context"})


async def test_all_that_is_missing_is_told_at_once_and_nobody_is_asked_after_the_first(world):
    world.context.asker = None
    with pytest.raises(InputMissing) as caught:
        await world.resolve(
            {"name": "x", "source": "user_input", "description": "Who"},
            {"name": "made", "source": "template", "template": "{x}!"},
            {"name": "y", "source": "scraped", "extraction": READ},
            {"name": "z", "source": "user_input", "required": False},
        )
    assert caught.value.names == ("x", "y")
    assert "'x' (Who), 'y'" in str(caught.value)
    assert caught.value.hint == "give them with --input x=VALUE --input y=VALUE"


async def test_a_secret_that_is_missing_says_where_to_put_it(world):
    with pytest.raises(InputMissing) as caught:
        await world.resolve({"name": "api_key", "secret": True, "source": "global_context"})
    assert "PERIPLUS_SECRET_API_KEY" in (caught.value.hint or "")


async def test_what_a_person_said_before_is_not_asked(world):
    world.context.said["x"] = "said"
    assert await world.resolve({"name": "x", "source": "user_input"}) == {"x": "said"}
    assert world.asker.asked == []


async def test_low_is_kept_medium_until_its_time_is_over_and_high_never(world):
    world.shows = [f"code {n}" for n in range(1, 10)]
    low = {"name": "low", "source": "scraped", "extraction": READ}
    medium = {**low, "name": "medium", "volatility": "medium", "ttl_seconds": 60}
    high = {**low, "name": "high", "volatility": "high"}
    on_use = {**low, "name": "on_use", "refresh_on_use": True}
    first = await world.resolve(low, medium, high, on_use)
    world.now = 59.0
    second = await world.resolve(low, medium, high, on_use)
    world.now = 61.0
    third = await world.resolve(low, medium, high, on_use)
    assert [one["low"] for one in (first, second, third)] == ["code 1"] * 3
    assert [one["medium"] for one in (first, second, third)] == ["code 2", "code 2", "code 7"]
    assert len({one["high"] for one in (first, second, third)}) == 3
    assert len({one["on_use"] for one in (first, second, third)}) == 3


async def test_a_task_that_keeps_no_values_asks_anew_each_time(world):
    world.shows = ["first", "second"]
    spec = {"name": "x", "source": "scraped", "extraction": READ}
    for shown in ("first", "second"):
        kept = await world.resolve(spec, variable_resolution={"runtime_context_store": False})
        assert kept == {"x": shown}


async def test_a_value_in_the_session_is_too_old_for_an_input_of_medium_volatility(world):
    spec = {"name": "x", "source": "session_context|hardcoded", "value": "new", "volatility": "medium",
            "ttl_seconds": 60}  # fmt: skip
    world.context.session["x"] = "old"
    world.now = 60.0
    assert await world.resolve(spec) == {"x": "old"}
    world.now = 61.0
    assert await world.resolve(spec) == {"x": "new"}
    world.context.session.update(x="old again")
    assert await world.resolve(spec) == {"x": "old again"}
    world.context.keep_outputs("made", {"y": 1}, "task")
    of_task = {**spec, "name": "y", "source": "task_context|hardcoded"}
    assert await world.resolve(of_task) == {"y": 1}
    world.now = 200.0
    assert await world.resolve(of_task) == {"y": "new"}


async def _refreshed(world, *inputs, names=("x",), given=(), **values):
    task = _task(*inputs)
    return await refresh_inputs(task, names, dict.fromkeys(given), values, world.context, scrape=world.scrape)


async def test_what_is_of_high_volatility_is_got_once_more_at_the_moment_of_use(world):
    code = {"name": "x", "source": "scraped|user_input", "extraction": READ, "volatility": "high",
            "secret": True, "transforms": [{"type": "concat", "prefix": "#"}]}  # fmt: skip
    world.shows, world.asker.answers = ["first", "second"], {"x": "asked"}
    assert await world.resolve(code) == {"x": "#first"}
    assert await _refreshed(world, code, x="#first") == {"x": "#second"}
    assert "#second" not in world.context.redact("it is #second")
    assert await _refreshed(world, code, x="#second") == {}, "not on the page any more: it stays"
    assert world.asker.asked == [], "nobody is asked twice"
    world.shows = ["third"]
    assert await _refreshed(world, code, names=("other",), x="#second") == {}
    assert await _refreshed(world, code, given=("x",), x="#second") == {}, "what the caller gave stays"
    assert await _refreshed(world, {**code, "volatility": "low"}, x="#second") == {}


async def test_a_page_that_cannot_be_got_to_leaves_it_to_the_next_source(world):
    async def lost(_rule, _values):
        raise NoPath("a", "b")

    world.scrape = lost
    world.asker.answers["x"] = "123456"
    assert await world.resolve({"name": "x", "source": "scraped|user_input", "extraction": READ}) == {
        "x": "123456"
    }


async def test_a_template_is_filled_once_from_inputs_before_it(world):
    hard = 'O\'Brien "Bob" </script> {y} {{y}}'
    values = await world.resolve(
        {"name": "y", "source": "hardcoded", "value": hard},
        {"name": "x", "source": "template", "template": "<{y}>"},
        {"name": "z", "source": "template", "template": "{nobody}", "required": False},
    )
    assert values == {"y": hard, "x": f"<{hard}>", "z": ""}


async def test_values_are_typed_before_they_are_transformed(world):
    world.context.said = {"n": " 12 ", "flag": "Yes", "rows": "a, b", "o": '{"k": 1}', "bad": "many"}
    values = await world.resolve(
        {"name": "n", "type": "integer", "source": "user_input",
         "transforms": [{"type": "calculate", "expression": "value * 2"}]},
        {"name": "flag", "type": "boolean", "source": "user_input"},
        {"name": "rows", "type": "array", "source": "user_input"},
        {"name": "o", "type": "object", "source": "user_input"},
    )  # fmt: skip
    assert values == {"n": 24, "flag": True, "rows": ["a", "b"], "o": {"k": 1}}
    with pytest.raises(PersonNeeded, match="expected type integer"):
        await world.resolve({"name": "bad", "type": "integer", "source": "user_input"})


@pytest.mark.parametrize("name", GENERATORS)
async def test_every_generator_gives_a_value_where_no_example_was_written(world, name):
    spec = {"name": "x", "source": "generated_value", "generator": name}
    assert (await world.resolve(spec))["x"] not in (None, "")


async def test_a_date_is_generated_moved_and_written_in_a_segments_own_format(world):
    week = [{"type": "add_days", "value": 7}, {"type": "format_date", "format": "MM/DD/YYYY"}]
    rule = {"source": "generated_value", "generator": "current_date", "transforms": week}
    first = date.today()  # noqa: DTZ011 - the generator's own day
    made = (await world.map(x=rule))["x"]
    days = {first, date.today()}  # noqa: DTZ011 - midnight may be between the two
    assert made in {f"{day + timedelta(days=7):%m/%d/%Y}" for day in days}


async def test_a_generator_that_there_is_not_is_named_with_those_there_are(world):
    with pytest.raises(PersonNeeded, match="human_nam") as caught:
        await world.resolve({"name": "x", "source": "generated", "generator": "human_nam"})
    assert "human_name" in (caught.value.hint or "")


async def test_a_secret_comes_from_where_secrets_are_kept_and_is_one_before_it_can_fail(world):
    class Vault:
        async def secret(self, name):
            return ("s3cret-value", "keyring") if name == "pin" else None

    world.context.vault = Vault()
    secret = {"name": "pin", "secret": True, "source": "global_context"}
    world.context.global_values["pin"] = "from elsewhere"
    assert await world.resolve(secret) == {"pin": "s3cret-value"}
    assert world.sources == {"pin": "keyring"}
    assert await world.resolve({**secret, "secret": False}) == {"pin": "from elsewhere"}
    with pytest.raises(PersonNeeded) as caught:
        await world.resolve({**secret, "transforms": [{"type": "add_days", "value": 1}]})
    assert "s3cret-value" not in world.context.redact(str(caught.value))


def test_what_says_something_is_not_replaced_by_what_says_nothing():
    context = RunContext()
    context.keep_outputs("t", {"id": "7", "rows": [{"a": "x"}], "new": ""}, "session")
    context.keep_outputs("t", {"id": "", "rows": [], "new": "n"}, "session")
    assert context.session == {"id": "7", "rows": [{"a": "x"}], "new": "n"}
    context.keep_outputs("g", {"id": "8"}, "global")
    context.keep_outputs("p", {"id": "9"}, "task")
    assert (context.session["id"], context.global_values["id"]) == ("7", "8")
    assert context.outputs["p"] == {"id": "9"}
    assert list(context.outputs) == ["t", "g", "p"]


PART = {"type": "extract_regex", "pattern": "^(.{6})"}
CHARACTER = {"type": "extract_regex", "pattern": "^(.)"}


@pytest.mark.parametrize("made", [{"transforms": [PART]}, {"transforms": [CHARACTER], "secret": True}])
async def test_a_part_of_a_secret_that_would_not_be_recognised_is_refused(world, made):
    whole = {"name": "password", "secret": True}
    part = {"name": "part", "source": "template", "template": "{password}", **made}
    with pytest.raises(PersonNeeded, match="'part' is a part of a secret"):
        await world.resolve(whole, part, given={"password": "Zq7xSecretW9kk"})


async def test_a_part_of_a_secret_that_is_declared_secret_is_recognised(world):
    whole = {"name": "password", "secret": True}
    part = {
        "name": "part",
        "source": "template",
        "template": "{password}",
        "transforms": [PART],
        "secret": True,
    }
    values = await world.resolve(whole, part, given={"password": "Zq7xSecretW9kk"})
    assert values["part"] == "Zq7xSe"
    assert "Zq7xSe" not in world.context.redact("it is Zq7xSe")


async def test_a_flow_maps_no_part_of_a_secret(world):
    world.context.keep_secret("Zq7xSecretW9kk")
    world.context.session["password"] = "Zq7xSecretW9kk"
    with pytest.raises(PersonNeeded, match="part of a secret"):
        await world.map(x={"source": "session_context", "key": "password", "transforms": [PART]})
