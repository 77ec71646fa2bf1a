"""Layers and losses: convolutions, pools, norms, recurrent networks."""
