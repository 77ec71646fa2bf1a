"""Ways to send less: mirrors `torch/distributed/algorithms`."""
