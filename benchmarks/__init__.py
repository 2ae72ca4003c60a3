"""Speed, measured as ratios within one run. Each has --json and --quick; tests never assert on them."""
