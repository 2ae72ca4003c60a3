"""The rules of Burrow, to the last bit, for those who rely on them."""
