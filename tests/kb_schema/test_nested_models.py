"""Models inside documents are found in the fields whose types may hold one: none is missed."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from kb_schema.action_calls import ActionCall
from kb_schema.conditions import BaseCondition, JudgedText
from kb_schema.error_handling import ErrorRecovery, ErrorRule
from kb_schema.graph_documents import ErrorState
from kb_schema.nested_models import ModelFinder, list_models, walk
from kb_schema.selectors import Selector
from loaders.files.folder_reader import read_knowledge_folder

WANTED = (
    (BaseModel,),
    (ActionCall,),
    (BaseCondition, Selector),
    (JudgedText,),
    (ErrorRule, ErrorRecovery, ErrorState),
)


def _documents():
    for folder in ("seeds/spadeworks/kb", "tests/data/harbour/kb"):
        yield from read_knowledge_folder(Path(folder))[0].documents()


DOCUMENTS = tuple(_documents())


def _all_models(value):
    """Every model in a value, whatever its type says."""
    if isinstance(value, BaseModel):
        yield value
        inner = [*value.__dict__.values(), *(value.model_extra or {}).values()]
    elif isinstance(value, dict):
        inner = [*value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        inner = [*value]
    else:
        return
    for each in inner:
        yield from _all_models(each)


@pytest.mark.parametrize("wanted", WANTED, ids=lambda each: "-".join(model.__name__ for model in each))
def test_a_finder_misses_no_model_of_its_types(wanted):
    finder, seen = ModelFinder(*wanted), 0
    for document in DOCUMENTS:
        expected = [id(each) for each in _all_models(document) if isinstance(each, wanted)]
        assert sorted(id(each) for each in finder.find(document)) == sorted(expected)
        seen += len(expected)
    assert seen or wanted == (JudgedText,)


def test_a_walk_and_a_list_have_the_same_models_as_a_look_at_every_value():
    for document in DOCUMENTS:
        expected = sorted(id(each) for each in _all_models(document))
        assert sorted(id(each) for _, each in walk(document)) == expected
        assert sorted(id(each) for each in list_models(document)) == expected


class _Leaf(BaseModel):
    name: str = ""


class _Twig(_Leaf):
    leaves: "tuple[_Leaf | str, ...]" = ()


class _Tree(BaseModel):
    texts: tuple[str, ...] = ()
    branch: _Leaf | None = None
    anything: object = None
    below: "_Tree | None" = None


def test_fields_may_hold_subclasses_anything_and_their_own_model():
    leaf, other, third = _Leaf(name="a"), _Leaf(name="b"), _Leaf(name="c")
    twig = _Twig(leaves=("text", leaf))
    tree = _Tree(below=_Tree(branch=twig, anything=[{"x": other}], texts=("t",)))
    assert ModelFinder(_Leaf).find(tree) == [twig, other, leaf] or ModelFinder(_Leaf).find(tree) == [
        twig,
        leaf,
        other,
    ]
    assert third not in ModelFinder(_Leaf).find(tree)
    assert [path for path, node in walk(tree) if node is leaf] == ["$.below.branch.leaves[1]"]
