"""What a user can give that must be refused: rows of (name, what is planted, the words that must appear)."""
