"""The history of tensors that ops do not write down for themselves: views, in-place ops, custom functions.

The core calls none of it: ops that are recorded in another way than `core/record.py` does call it.
"""
