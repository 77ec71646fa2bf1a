"""All that records a program: what the core calls while a recorder is on, and what makes a trace of what it notes.

The observer (`observer.py`) notes each event in a log; the encoder turns the log into a trace (`minigrad.trace`).
`tracker.py`, `names.py`, `bindings.py`, `builder.py`, `encoder.py` and `ledger.py` need the standard library alone:
the recorder of another library is built on them.
"""
