# hooks on an op (Node) fire only for the graph that owns the op
def parameter_hook(grad):
    print('parameter hook', grad)
def operator_hook(*grads):
    print('operator hook', grads)
w = torch.nn.Parameter(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
w.register_hook(parameter_hook)
print('first')
y = w + 1
op1 = y.grad_fn
print(op1)
op1.register_hook(operator_hook)
y.sum().backward()
print('second')
z = w + 1
op2 = z.grad_fn
print(op2)
z.sum().backward()
def pre(grad_outputs):
    print('pre', grad_outputs)
    return (grad_outputs[0] * 3,)
q = w * 2
q.grad_fn.register_prehook(pre)
q.sum().backward()
print(w.grad)
def post_acc(p):
    print('accumulated', p is w)
w.register_post_accumulate_grad_hook(post_acc)
(w * 1).sum().backward()
