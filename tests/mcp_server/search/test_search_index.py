"""A hit says how much of the query it says; below a threshold there is nothing on a query."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from loaders import read_knowledge_folder
from mcp_server.search.search_index import LEAST_MATCH, SearchIndex
from tests.mcp_server import pantry

ROOT = Path(__file__).resolve().parents[3]
QUESTIONS = yaml.safe_load((ROOT / "tests/data/search_questions.yaml").read_text())
EVERY = 1_000


@pytest.fixture(scope="module")
def indexes() -> dict[str, SearchIndex]:
    return {
        "spadeworks": SearchIndex(read_knowledge_folder(ROOT / "seeds/spadeworks/kb")[0]),
        "harbour": SearchIndex(read_knowledge_folder(ROOT / "tests/data/harbour/kb")[0]),
        "pantry": SearchIndex(pantry.knowledge()),
    }


def measured(indexes: dict[str, SearchIndex], site: str) -> Iterator[tuple[float, bool]]:
    """The best match for each question, and whether the knowledge base has an answer."""
    index = indexes[site]
    for each in QUESTIONS[site]["about"]:
        hits = index.hits(each["query"], EVERY).hits
        yield max((hit.match for hit in hits if hit.id in each["ids"]), default=0.0), True
    for query in QUESTIONS[site]["nothing"]:
        yield max((hit.match for hit in index.hits(query, EVERY).hits), default=0.0), False


def errors_at(threshold: float, questions: list[tuple[float, bool]]) -> tuple[int, int]:
    """How many answers are missed, and how many questions without one get hits."""
    missed = sum(match < threshold for match, answered in questions if answered)
    return missed, sum(match >= threshold for match, answered in questions if not answered)


def best_threshold(questions: list[tuple[float, bool]]) -> float:
    """The middle of the interval with the fewest errors."""
    ends = sorted({0.0, 1.0, *(match for match, _ in questions)})
    return min(
        ((low + high) / 2 for low, high in pairwise(ends)),
        key=lambda each: (sum(errors_at(each, questions)), each),
    )


def test_the_threshold_is_the_one_that_the_questions_give(indexes):
    questions = [each for site in indexes for each in measured(indexes, site)]
    assert pytest.approx(best_threshold(questions), abs=0.02) == LEAST_MATCH
    assert errors_at(LEAST_MATCH, questions) == (2, 0)


@pytest.mark.parametrize(
    ("left_out", "missed", "false"), [("harbour", 1, 0), ("pantry", 0, 0), ("spadeworks", 0, 12)]
)
def test_the_threshold_of_two_knowledge_bases_on_the_third(indexes, left_out, missed, false):
    """The two small ones alone have too few words to tell what a large one says by accident."""
    others = [each for site in indexes if site != left_out for each in measured(indexes, site)]
    found = errors_at(best_threshold(others), list(measured(indexes, left_out)))
    assert found == (missed, false)


def test_a_document_does_not_match_by_words_from_several_of_its_texts(indexes):
    query = "what does the premium plan cost"
    assert indexes["spadeworks"].hits(query, EVERY).hits
    assert indexes["spadeworks"].hits(query, EVERY, least=LEAST_MATCH).hits == ()


def test_the_words_that_nothing_says_are_named(indexes):
    assert indexes["pantry"].unknown_words("how do I cancel my subscription") == ("cancel", "subscription")


def test_a_page_of_hits_goes_on_among_those_that_match(indexes):
    index = indexes["spadeworks"]
    every = index.hits("create agent", EVERY, least=LEAST_MATCH)
    assert not every.more
    assert min(hit.match for hit in every.hits) >= LEAST_MATCH
    paged = [
        hit
        for skip in range(0, len(every.hits), 3)
        for hit in index.hits("create agent", 3, least=LEAST_MATCH, skip=skip).hits
    ]
    assert tuple(paged) == every.hits
