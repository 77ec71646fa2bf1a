"""The parts of a trace, behind `minigrad.recorder`: how it is built, folded into frames, walked, put into words.

Standard library only: a trace can be read where NumPy is not.
"""
