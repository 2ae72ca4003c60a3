"""Alert rules, each with what makes it fire and what must leave it quiet."""
