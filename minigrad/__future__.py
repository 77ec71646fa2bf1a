"""What a later PyTorch may do by itself, and is asked for here until then. Mirrors `torch/__future__.py`."""

from minigrad._base.missing import module_getattr

__all__ = ["get_overwrite_module_params_on_conversion", "set_overwrite_module_params_on_conversion"]

OVERWRITE = [False]


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether `module.to`, `module.double` and their like give a module new parameters, not new data to those it has.

    What holds the old ones, as an optimiser does, keeps them as they were.
    """
    OVERWRITE[0] = value


def get_overwrite_module_params_on_conversion() -> bool:
    """What was set."""
    return OVERWRITE[0]


__getattr__ = module_getattr(__name__)
