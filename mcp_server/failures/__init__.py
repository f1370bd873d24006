"""Failure explanation: from what is known of a failure to its likely causes and the next call.

`failure_case` gathers the evidence, `failure_causes` holds the causes (one registered function each),
`failure_explanation` ranks them. Nothing here reads a store: the tool looks runs up.
"""
