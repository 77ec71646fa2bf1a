"""Run by each kernel of `minigrad lab` when it starts, so that a lesson's first cell is asked for in plain words, too.

To import the lessons is enough: it tells IPython how to show their errors.
"""

import minigrad_lessons  # noqa: F401 (see above)
