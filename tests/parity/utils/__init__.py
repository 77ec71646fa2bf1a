"""Checkpointing and data loading."""
