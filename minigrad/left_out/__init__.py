"""Modules of PyTorch's that minigrad leaves out: `minigrad.fft` and others, each a list of names.

A program may import what it never uses. So each name can be imported, asked for and derived from; when it is called,
it raises NotImplementedError, which says what to do instead. `minigrad` looks for its submodules in this folder too.
"""
