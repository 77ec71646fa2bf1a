# second example: leaves, grad_fn, next_functions, retain_graph
import warnings
A = torch.tensor(2., requires_grad=True)
B = torch.tensor(.5, requires_grad=True)
E = torch.tensor(1., requires_grad=True)
C = A * B
D = C.exp()
F = D + E
print(F)
print([x.is_leaf for x in [A, B, C, D, E, F]])
print([x.grad_fn for x in [F, D, C, A]])
print(F.grad_fn.next_functions)
print(F.grad_fn.next_functions[1][0].variable is E)
print(D.grad_fn.next_functions[0][0] is C.grad_fn, C.grad_fn is C.grad_fn)
F.backward(retain_graph=True)
print(A.grad, B.grad, E.grad)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(C.grad, D.grad)
print([w.category.__name__ for w in caught])
print(str(caught[0].message).split(" (Triggered")[0])
one = torch.tensor(1.0)
u = A * one
print(u.grad_fn.next_functions)
a, b = torch.arange(6.).requires_grad_().chunk(2)
print(a.grad_fn is b.grad_fn, (a + b).grad_fn.next_functions)
