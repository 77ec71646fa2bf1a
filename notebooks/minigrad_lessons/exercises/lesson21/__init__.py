"""The checks of the 21 puzzles: each calls the one line that a student wrote, and says what became of it."""
