"""Speech of a presentation: the narrator, its clock, and bridging sentences."""
