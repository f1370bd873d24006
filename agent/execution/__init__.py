"""Executes tasks and workflows: inputs, steps, recoveries, replanning, loops, effects, checkpoints, results."""
