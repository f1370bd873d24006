"""The hook leaves out only requests that schemathesis would call invalid although each of their faults is none."""

from __future__ import annotations

from random import Random

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, find, settings
from schemathesis.core.failures import FailureGroup
from schemathesis.hooks import unregister
from schemathesis.specs.openapi.checks import negative_data_rejection

from tests.periplus.service.schemathesis_credentials import CREDENTIAL, filter_case

DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "T", "version": "1"},
    "components": {
        "securitySchemes": {
            "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            "Bearer": {"type": "http", "scheme": "bearer"},
        }
    },
    "paths": {
        "/a": {
            "get": {
                "security": [{"ApiKey": []}, {"Bearer": []}],
                "parameters": [
                    {
                        "name": "actor",
                        "in": "query",
                        "schema": {"anyOf": [{"type": "string", "maxLength": 9}, {"type": "null"}]},
                    }
                ],
                "responses": {"200": {"description": "OK"}},
            }
        }
    },
}


@pytest.fixture(scope="module")
def operation():
    unregister(filter_case)  # importing it has registered it in this process
    return schemathesis.openapi.from_dict(DOCUMENT)["/a"]["GET"]


def _drawn(operation, faults: set[str]):
    """A request with these faults, and a list of one text as the query's."""

    def fits(case) -> bool:
        data = case.meta.phase.data
        actor = case.query.get("actor")
        one = isinstance(actor, list) and len(actor) == 1 and isinstance(actor[0], str)
        return {each.parameter for each in data.mutations} == faults and (one or "actor" not in faults)

    first = settings(
        max_examples=5_000, database=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck)
    )
    drawn = operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE)
    return find(drawn, fits, settings=first, random=Random(0))


def _accepted(case) -> schemathesis.Response:
    """An answer with 200 to the request, which has a right key."""
    asked = case.as_transport_kwargs(base_url="http://127.0.0.1:1", headers={"X-API-Key": "k"})
    answer = requests.Response()
    answer.status_code, answer._content = 200, b"{}"
    answer.request = requests.Request(
        asked["method"], asked["url"], asked["headers"], params=asked["params"]
    ).prepare()
    answer.raw = type("Raw", (), {"version": 11, "reason": "OK", "headers": {}, "_original_response": None})()
    return schemathesis.Response.from_requests(answer, verify=False)


@pytest.mark.parametrize("fault", ["actor", CREDENTIAL])
def test_one_fault_that_is_none_is_sent_and_is_no_complaint(operation, fault):
    case = _drawn(operation, {fault})
    assert filter_case(None, case)
    case.validate_response(_accepted(case), checks=[negative_data_rejection])


def test_two_of_them_would_be_a_complaint_and_are_not_sent(operation):
    case, other = _drawn(operation, {"actor"}), _drawn(operation, {CREDENTIAL})
    case.headers.update(other.headers)
    case.meta.components.update(other.meta.components | case.meta.components)
    case.meta.phase.data.mutations += other.meta.phase.data.mutations
    assert not filter_case(None, case)
    with pytest.raises(FailureGroup, match="Schema-violating request accepted"):
        case.validate_response(_accepted(case), checks=[negative_data_rejection])
