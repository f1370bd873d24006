"""Models are built when they are used first; what they refer to is found then, from any thread."""

import importlib
import pkgutil
import subprocess
import sys

import pytest

import kb_schema
from kb_schema.base import Model

for _each in pkgutil.walk_packages(kb_schema.__path__, "kb_schema."):
    importlib.import_module(_each.name)


def _find_models(above):
    for each in above.__subclasses__():
        if each.__module__.startswith("kb_schema"):
            yield each
        yield from _find_models(each)


@pytest.mark.parametrize("model", sorted(set(_find_models(Model)), key=lambda each: each.__qualname__))
def test_every_model_finds_what_it_refers_to(model):
    model.model_rebuild()
    assert model.__pydantic_complete__


def test_eight_threads_may_use_a_model_first_at_once():
    code = """
import threading
from concurrent.futures import ThreadPoolExecutor
import pydantic
from kb_schema.workflows import Workflow
assert not Workflow.__pydantic_complete__
start = threading.Barrier(8)
def refuse(number):
    start.wait()
    try:
        Workflow.model_validate({"no_such_field": number})
    except pydantic.ValidationError as exc:
        return sorted(str(each["loc"]) for each in exc.errors())
with ThreadPoolExecutor(8) as pool:
    found = list(pool.map(refuse, range(8)))
assert found[0] and all(each == found[0] for each in found), found
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
