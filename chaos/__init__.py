"""Traffic, faults, schedules, checkers and scenarios: the trial itself."""
