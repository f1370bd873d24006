"""Everything that touches a live page: one in-page library (`js/`) and the Python modules that call it.

Reading (`condition_probes`, `snapshot_capture`, `page_problems`), selectors (`live_selectors`), the gate
(`actionability_gate`), actions (`page_actions`, `guarded_input`) and waiting (`armed_triggers`,
`page_changes`). This package knows no tasks, no knowledge base and no screens.
"""
