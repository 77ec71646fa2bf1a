"""Hooks for `DistributedDataParallel.register_comm_hook`: mirrors PyTorch's folder of this name."""
