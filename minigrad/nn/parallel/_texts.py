"""The errors of DistributedDataParallel, in PyTorch's words."""

__all__ = ["NOTHING_TO_DO", "NO_FUTURE", "NO_HOOK", "SECOND_HOOK", "TWICE", "UNFINISHED"]

NOTHING_TO_DO = (
    "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.")
UNFINISHED = (
    "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that "
    "your module has parameters that were not used in producing loss. You can enable unused parameter detection by "
    "passing the keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by "
    "\nmaking sure all `forward` function outputs participate in calculating loss. \nParameters which did not receive "
    "grad for rank {}: {}")
TWICE = (
    "Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a "
    "module parameter outside the `forward` function. 2) Reused parameters in multiple reentrant backward passes. For "
    "example, if you use multiple `checkpoint` functions to wrap the same part of your model, it would result in the "
    "same set of parameters been used by different reentrant backward passes multiple times. \nParameter {} had been "
    "marked as ready before.")
NO_HOOK = "Communication hook must be callable."
SECOND_HOOK = "register_comm_hook or register_builtin_comm_hook can only be called once."
NO_FUTURE = "DDP communication hook's callback must return a torch.futures.Future object, but got {}"
