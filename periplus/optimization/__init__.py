"""`periplus optimize`: how a suite is run, where learned values are stored, and how results are shown."""
