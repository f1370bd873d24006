"""Checks of signatures against stored snapshots: the work of `periplus kb check`.

`signature_check` runs the check. `snapshot_evaluation` evaluates every page once. `signature_findings` and
`idle_indicators` find problems, `indicator_proposals` proposes corrections, `check_report` holds the models of the answer.
"""
