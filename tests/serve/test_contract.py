"""The OpenAPI document against the server, by a tool that nobody here wrote."""

from __future__ import annotations

import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import BaseSchema, Case, Config, GenerationMode
from schemathesis.config._checks import NEGATIVE_DATA_REJECTION_EXPECTED_STATUSES

from regard.serve.app import PATHS
from tests.serve.running import Running


def test_the_document_names_every_path(fake: Running) -> None:
    told = fake.client.get("/openapi.json").json()
    assert set(told["paths"]) == {*PATHS, "/v1/views/look"}
    assert told["openapi"].startswith("3.1")


def contract(url: str) -> BaseSchema:
    """All that the server says of itself. Of its own accord schemathesis does not take 413 for a refusal."""
    refusals = [*NEGATIVE_DATA_REJECTION_EXPECTED_STATUSES, "413"]
    config = Config.from_dict({"checks": {"negative_data_rejection": {"expected-statuses": refusals}}})
    return schemathesis.openapi.from_url(f"{url}/openapi.json", config=config)


def unhurried(case: Case) -> Case:
    """With time to answer: a deadline of a microsecond is valid, and 504 the right answer to it."""
    deadline = case.body.get("deadline") if isinstance(case.body, dict) else None
    if isinstance(deadline, float | int) and not isinstance(deadline, bool) and 0 < deadline < 20:
        case.body["deadline"] = 20
    return case


def test_it_does_what_it_says(fake: Running) -> None:
    """All checks of schemathesis, on every path."""
    operations = [found.ok() for found in contract(fake.url).get_all_operations()]
    assert len(operations) == 10
    for operation in operations:
        bare = operation.method == "get"  # nothing is sent, so nothing can be wrong
        for mode in [GenerationMode.POSITIVE] if bare else GenerationMode:

            @given(case=operation.as_strategy(generation_mode=mode))
            @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), database=None)
            def holds(case: Case) -> None:
                unhurried(case).call_and_validate()

            holds()
