"""The result of a task's run: outcome checks, completion, status, metrics."""
