"""Tests of the lessons: each notebook unsolved, solved and wrong; the bank; the checks; the linter; nbval strict."""
