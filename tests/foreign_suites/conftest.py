"""Suites of strangers: they are run by a pytest of their own (`tests/chain/test_optimize*.py`), never by ours."""

collect_ignore_glob = ["*/*"]
