"""What the monitor remembers: columns of numbers, bounded, in memory and on disk."""
