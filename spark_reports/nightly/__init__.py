"""The nightly report: run folders → tables → statistics → one document."""
