"""The probe that runs inside a suite's own pytest. It stands alone: nothing of Periplus is imported there."""
