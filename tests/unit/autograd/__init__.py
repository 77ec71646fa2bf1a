"""The engine, the graph, hooks, modes, functions."""
