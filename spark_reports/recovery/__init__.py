"""How long partitions were dark, over thousands of runs, and how those times are spread."""
