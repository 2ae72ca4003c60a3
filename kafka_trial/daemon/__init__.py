"""What all daemons share: a configuration file, an HTTP side, a clean end."""
