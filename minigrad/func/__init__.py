"""Functions of functions: derivatives of a function, as a function. Mirrors `torch/func`.

    grad(f)(x)                 the gradient of a scalar function
    vjp(f, x), jvp(f, (x,), (t,))   a row and a column of its Jacobian
    vmap(f)(xs)                f for each of a batch of examples
    jacrev(f)(x), jacfwd(f)(x), hessian(f)(x)   all of it
    functional_call(module, parameters, inputs)   a module as a function of its parameters

They take trees of tensors, and can be put around each other: `grad(grad(f))`, `jacfwd(jacrev(f))`. You need them where
a derivative is itself an ingredient: per-example gradients, Hessians, meta-learning, losses of physics.

`transforms` differentiates, `vmap` runs on batches (`batching` says how), `jacobians` collects rows and columns,
`modules` turns modules into functions; `custom_functions` says what all of them do with a custom Function, `data` with
`.data`, `captured` with writes to what is from outside, and `printed` with a tensor that is printed.
"""

from minigrad._base.optional import module_getattr
from minigrad.func import custom_functions as custom_functions
from minigrad.func import data as data
from minigrad.func import printed as printed
from minigrad.func.jacobians import hessian, jacfwd, jacrev
from minigrad.func.modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from minigrad.func.transforms import grad, grad_and_value, jvp, linearize, vjp
from minigrad.func.vmap import vmap

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap"]

__getattr__ = module_getattr(__name__)
