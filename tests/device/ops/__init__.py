"""Operators on the stand-in device."""
