"""What is on each dashboard: one file for each."""
