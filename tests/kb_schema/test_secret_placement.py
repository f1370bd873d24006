"""`{secret:NAME}` may stand in one field of all models: the value that a step types into a field of a page."""

from __future__ import annotations

import importlib
import json
import pkgutil

import pytest
from pydantic import BaseModel, ValidationError

import kb_schema
import periplus.service
from agent.verification.planning import RequirementsInvalid, requirement_of
from kb_schema import KnowledgeError, SourcedDocument, assemble, parse_document
from kb_schema.base import Model
from kb_schema.secret_placement import find_misplaced_secrets, may_name_secret
from kb_schema.templates import strings
from kb_schema.verification import Requirement, RequirementStep
from tests.kb_store.sample_knowledge import documents_of

SECRET = "{secret:SHOP_PASSWORD}"
OK = Requirement(
    req_id="A",
    url="/",
    steps=(RequirementStep(intent="Password", element="Password", action="fill", value=SECRET),),
)


def _models(base: type[BaseModel]) -> set[type[BaseModel]]:
    return {base, *(found for each in base.__subclasses__() for found in _models(each))}


def test_one_field_of_all_models_may_name_a_secret():
    for package in (kb_schema, periplus.service):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    models = _models(BaseModel)
    assert len(models) > 300
    assert Model in models
    found = {
        f"{model.__name__}.{name}"
        for model in models
        for name, field in model.model_fields.items()
        if may_name_secret(field)
    }
    assert found == {"RequirementStep.value"}


@pytest.mark.parametrize("action", ["fill"])
def test_a_step_that_types_may_name_a_secret(action):
    step = OK.steps[0].model_copy(update={"action": action})
    assert list(find_misplaced_secrets(OK.model_copy(update={"steps": (step,)}))) == []


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"url": f"http://a.example/?x={SECRET}"}, "$.url"),
        ({"title": SECRET}, "$.title"),
        ({"login": SECRET}, "$.login"),
        ({"tags": ["a", SECRET]}, "$.tags[1]"),
        ({"place": {"file": SECRET}}, "$.place.file"),
        *(
            ({"steps": [{"intent": "P", "element": "P", "action": "fill"} | step]}, f"$.steps[0].{path}")
            for step, path in (
                ({"intent": SECRET}, "intent"),
                ({"element": SECRET}, "element"),
                ({"region": SECRET}, "region"),
                ({"action": "navigate", "value": f"/{SECRET}"}, "value"),
                ({"action": "press", "value": SECRET}, "value"),
                ({"action": "select_option", "value": SECRET}, "value"),
                ({"action": "upload_file", "value": SECRET}, "value"),
                ({"action": "", "value": SECRET}, "value"),
                ({"expected": [{"kind": "shows", "said": "x", "value": SECRET}]}, "expected[0].value"),
                ({"expected": [{"kind": "shows", "said": SECRET}]}, "expected[0].said"),
            )
        ),
    ],
)
def test_a_requirement_with_a_secret_elsewhere_cannot_exist(change, path):
    with pytest.raises(ValidationError, match="is not allowed in") as refused:
        Requirement.model_validate(OK.model_dump() | change)
    assert f"in {path} ->" in str(refused.value)


@pytest.mark.parametrize(
    ("fields", "steps"),
    [
        ({"url": f"http://a.example/{SECRET}"}, []),
        ({"title": SECRET}, []),
        ({"login": SECRET}, []),
        ({"tags": [SECRET]}, []),
        ({}, [f"| navigate | http://a.example/{SECRET}"]),
        ({}, [f"Password | press | {SECRET}"]),
        ({}, [f"Password | select | {SECRET}"]),
        ({}, [f"File | upload | {SECRET}"]),
        ({}, [f"{SECRET} | click"]),
        ({}, [f"Login@{SECRET} | click"]),
        ({}, [f"Login | click | | shows:{SECRET}"]),
        ({}, [f"Login | click | | url:/{SECRET}"]),
        ({}, [f"Login | click | | text:Name={SECRET}"]),
    ],
)
def test_the_planner_refuses_it_with_its_place(fields, steps):
    asked = {"req_id": "A", "url": "/", "steps": ["Start | click", *steps]} | fields
    with pytest.raises(RequirementsInvalid) as refused:
        requirement_of(**asked)
    assert all("secret" in problem.message.lower() for problem in refused.value.problems)
    assert len(refused.value.problems) == 1


def _put(node, path, text):
    *way, last = path.removeprefix("$").replace("]", "").replace("[", ".").strip(".").split(".")
    for each in way:
        node = node[int(each)] if isinstance(node, list) else node[each]
    node[int(last) if isinstance(node, list) else last] = text


def test_knowledge_that_names_a_secret_in_any_text_is_refused():
    named, sample = 0, json.dumps(documents_of())
    for number, document in enumerate(documents_of()):
        for path, text in strings(document):
            documents = json.loads(sample)
            _put(documents[number], path, text + SECRET)
            with pytest.raises(KnowledgeError) as refused:
                assemble([SourcedDocument(parse_document(each), f"{i}") for i, each in enumerate(documents)])
            ours = [each for each in refused.value.problems if each.rule == "secret-placeholders"]
            named += len(ours)
            assert all("SHOP_PASSWORD" in each.message and each.source == str(number) for each in ours)
    assert named > 40
