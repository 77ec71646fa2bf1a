"""A compiler that can be read: it traces a step and runs it as a NumPy program. docs/compiler.md walks through it."""

from minigrad.compiler.compiled import Compiled as Compiled
from minigrad.compiler.compiled import compile as compile
from minigrad.compiler.tracing.trace import GraphBreak as GraphBreak
