"""Recoveries of failed steps: the knowledge base names them, this package applies them within limits.

`failure_names` names an error, `recovery_rules` finds the rules for it, `recovery_registry` registers
recoveries, `retry_recoveries`, `page_state_recoveries` and `field_corrections` implement them, and
`recovery_runner` tries them in order. Whether a step may be repeated at all is decided in
`agent.execution.step_runner`.
"""
