"""Synthesis of workflows from traces (MA), in six stages; each stage takes one type and returns another.

Collect, evaluate, normalise and convert, align, extract patterns, synthesize and validate.
`synthesis_pipeline` runs the stages in order.
"""
