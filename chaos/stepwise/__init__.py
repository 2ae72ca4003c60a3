"""Transactional producers that take one step at a time, so that a scenario can act between any two of them."""
