"""The shared nouns of the house. Standard library only; opens no socket and no file."""
