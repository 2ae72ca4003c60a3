"""The pages of a nightly report: a folder of HTML that works offline, drawn from report.json alone."""
