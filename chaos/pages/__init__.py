"""Pages of the documentation that are written from runs, so that what they say was seen."""
