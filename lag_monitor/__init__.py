"""Consumer lag, judged by Burrow's rules and by better ones."""
