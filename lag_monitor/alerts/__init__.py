"""Who is told of a group in trouble, how often, and that it is over: exactly one open, exactly one close."""
