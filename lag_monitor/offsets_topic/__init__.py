"""What is written in `__consumer_offsets`, read without trusting it."""
