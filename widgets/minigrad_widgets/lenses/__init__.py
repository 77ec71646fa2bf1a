"""The other views, each for one question: which tensors share memory, what a checkpoint holds, and so on.

A new one has its widget here, its still picture in `pictures/`, and its view in the browser in
`frontend/src/lenses/`. The lenses of the inspector itself (`forward`, `traversal`, …) are in `inspector/inspector.py`
and in `frontend/src/inspector/lens.ts`.
"""
