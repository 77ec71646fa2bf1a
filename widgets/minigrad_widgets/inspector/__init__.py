"""The inspector of a trace, and `inspect`, which records a program for it."""
