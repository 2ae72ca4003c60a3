"""Topics as Spark reads them, once or for ever: results of runs, and the audit's reports."""
