"""From the folder of an exploration to a knowledge base: screens, elements, transitions, groups, ways out."""

from loaders.cartography.charting import Chart, chart

__all__ = ["Chart", "chart"]
