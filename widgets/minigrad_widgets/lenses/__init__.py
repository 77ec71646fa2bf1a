"""The other views, each for one question: which tensors share memory, what a checkpoint holds, and so on."""
