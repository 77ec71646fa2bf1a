"""Modules, parameters, layers."""
