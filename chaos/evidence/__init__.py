"""The run folder: everything that happened, written as it happens, complete after a crash."""
