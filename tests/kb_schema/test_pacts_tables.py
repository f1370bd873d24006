"""PACTS section 9 by name: its tables and keys are ours, with their fields and times to live."""

from __future__ import annotations

import pytest

from kb_schema import run_storage
from kb_schema.cached_locators import Locator
from kb_schema.run_records import Artifact, Metric, StoredRun, StoredStep

# PACTS's `req_id` of a step, an artifact or a metric is the run's: `run_id` names a run everywhere and
# `req_id` the requirement it verified (DESIGN 11). Its serial ids are keys of what is told apart.
TABLES = {
    "runs": (StoredRun, "req_id url verdict started_at finished_at heal_rounds rca_class rca_message"),
    "run_steps": (
        StoredStep,
        "run_id step_idx element action selector strategy confidence status heal_round error_message executed_at",
    ),
    "artifacts": (Artifact, "run_id artifact_type file_path file_hash created_at"),
    "metrics": (Metric, "run_id metric_name metric_value recorded_at"),
    "pom": (Locator, "url element selector confidence"),
}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_all_of_pactss_fields_under_their_names(table):
    model, fields = TABLES[table]
    assert set(fields.split()) <= model.model_fields.keys()


def test_what_is_short_lived_lives_as_long_as_pacts_says():
    assert (run_storage.LOCATOR_TTL_S, run_storage.CHECKPOINT_TTL_S) == (3_600, 86_400)
    assert (run_storage.HEAL_TTL_S, run_storage.RATE_TTL_S) == (3_600, 60)
