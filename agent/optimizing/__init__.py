"""The optimization loop: suites of pytest-playwright are run, read, healed live and patched (OL)."""
