"""The audit log: who did, approved, changed and opened what, in a file that shows later changes."""
