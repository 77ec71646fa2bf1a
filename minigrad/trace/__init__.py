"""The parts of a trace behind `minigrad.recorder`: it is built, folded into frames, walked and described here.

Standard library only: a trace can be read where NumPy is not.
"""
