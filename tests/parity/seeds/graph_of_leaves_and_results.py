import torch

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
F.backward(retain_graph=True)
print(A.grad, B.grad, E.grad)
print(C.grad, D.grad)
