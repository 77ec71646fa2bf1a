"""Backends: an array module and the few verbs in which array modules differ."""
