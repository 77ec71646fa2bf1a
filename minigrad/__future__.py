"""Behaviour that a later PyTorch may make the default, on request. Mirrors `torch/__future__.py`."""

from minigrad._base.optional import module_getattr

__all__ = ["get_overwrite_module_params_on_conversion", "set_overwrite_module_params_on_conversion"]

OVERWRITE = [False]


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Set whether `module.to`, `module.double` etc. give a module new parameters instead of new data in the old ones.

    Other holders of the old ones, such as an optimizer, keep them unchanged.
    """
    OVERWRITE[0] = value


def get_overwrite_module_params_on_conversion() -> bool:
    """The value set."""
    return OVERWRITE[0]


__getattr__ = module_getattr(__name__)
