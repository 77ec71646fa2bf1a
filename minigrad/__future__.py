"""Behaviour that a later PyTorch may make the default, on request. Mirrors `torch/__future__.py`."""

from minigrad._base.optional import module_getattr

__all__ = ["get_overwrite_module_params_on_conversion", "get_swap_module_params_on_conversion",
           "set_overwrite_module_params_on_conversion", "set_swap_module_params_on_conversion"]

_overwrite_module_params_on_conversion, _swap_module_params_on_conversion = [False], [False]


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Set whether `module.to`, `module.double` etc. give a module new parameters instead of new data in the old ones.

    Other holders of the old ones, such as an optimizer, keep them unchanged.
    """
    _overwrite_module_params_on_conversion[0] = value


def get_overwrite_module_params_on_conversion() -> bool:
    """The value set."""
    return _overwrite_module_params_on_conversion[0]


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Set whether `module.to` etc. swap each parameter with the new one (`swap_tensors`), instead of its data.

    Whoever holds it sees the new one; a graph that was recorded before raises, instead of adding to its gradient.
    """
    _swap_module_params_on_conversion[0] = value


def get_swap_module_params_on_conversion() -> bool:
    """The value set."""
    return _swap_module_params_on_conversion[0]


__getattr__ = module_getattr(__name__)
