"""Ledgers of any size and any number as frames, refused in the same sentences as those of the local engine."""
