"""The ways a notice leaves the house."""
