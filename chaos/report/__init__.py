"""What a person sees of a run: a block in the terminal, a page, a line in CI."""
