"""Checking signatures against stored snapshots: what `periplus kb check` asks.

`check.py` is the question, `survey.py` looks at every page once, `findings.py` and `idle.py` say
what is wrong, `proposals.py` what would mend it, `report.py` holds the answer's models.
"""
