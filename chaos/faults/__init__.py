"""What can be done to a cluster and its clients, each fault with the probe that sees it bite."""
