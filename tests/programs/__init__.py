"""Programs as the public writes them, retold: tutorials, examples, courses, packages. Only the imports change."""
