"""The graph, its passes, hooks and grad modes."""
