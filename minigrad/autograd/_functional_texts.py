"""The errors of `autograd.functional`: PyTorch's messages, from `torch/autograd/functional.py`, word for word."""

# of v
OUTPUTS = "outputs of the user-provided function"
NO_VECTOR = "The vector v can only be None if the {} a single Tensor with a single element."
ONE_INPUT = NO_VECTOR.format("input to the user-provided function is")
ONE_OUTPUT = NO_VECTOR.format("user-provided function returns")

# of strict mode; {} is the number of an input or output
INDEPENDENT = ("The output of the user-provided function is independent of input {}. This is not allowed in strict "
               "mode.")
OUTPUT_CONSTANT = ("Output {} of the user-provided function does not require gradients. The outputs must be computed "
                   "in a differentiable manner from the input when running in strict mode.")
GRADIENT_CONSTANT = ("The gradient with respect to input {} is independent of the inputs of the user-provided function."
                     " This is not allowed in strict mode.")
JACOBIAN_CONSTANT = ("While computing the hessian, found that the jacobian of the user-provided function with respect "
                     "to input {} is independent of the input. This is not allowed in strict mode. You should ensure "
                     "that your function is twice differentiable and that the jacobian depends on the inputs (this "
                     "would be violated by a linear function for example).")
ENTRY = "Output {} of the user-provided function is independent of input {}. This is not allowed in strict mode."
NOT_IN_JACOBIAN = ("The jacobian of the user-provided function is independent of input {}. This is not allowed in "
                   "strict mode.")
NOT_IN_GRADIENT = ("The gradient with respect to the input is independent of entry {} in the grad_outputs when using "
                   "the double backward trick to compute forward mode gradients. This is not allowed in strict mode.")
NOT_IN_HESSIAN = ("The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is "
                  "not allowed in strict mode as it prevents from using the double backward trick to replace forward "
                  "mode AD.")
NO_GRAPH = ("The {} of the user-provided function is independent of input {}. This is not allowed in strict mode when "
            "create_graph=True.")

# of strategies
STRATEGY = 'Expected strategy to be either "forward-mode" or "reverse-mode".'
STRATEGY_HINT = (' Hint: If your function has more outputs than inputs, "forward-mode" tends to be more performant. '
                 'Otherwise, prefer to use "reverse-mode".')
NOT_FORWARD = ("torch.autograd.functional.jacobian: `{0}=True` and `strategy=\"forward-mode\"` are not supported "
               'together (yet). Please either set `{0}=False` or `strategy="reverse-mode"`.')
FORWARD_LOOP = ("Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
                "`vectorize=True`.")
STRICT_VECTORIZED = ("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported "
                     "together. Please either set `strict=False` or `vectorize=False`.")
