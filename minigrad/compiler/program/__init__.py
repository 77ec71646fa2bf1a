"""What is run: statements, the passes that make fewer of them, and the source that they are written as."""
