"""Modules, layers, initialisation."""
