"""The forward algorithm of a hidden Markov model with logsumexp; its gradients are the expected counts of Baum-Welch."""
import torch
import torch.nn.functional as F

torch.manual_seed(9)
torch.set_default_dtype(torch.float64)
K, M, T = 3, 4, 9
true_A = torch.tensor([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]])
true_B = torch.tensor([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.2, 0.6]])
state, xs = 0, []
for _ in range(40):
    xs.append(torch.multinomial(true_B[state], 1).item())
    state = torch.multinomial(true_A[state], 1).item()
xs = torch.tensor(xs)
print(xs[:12].tolist())


def log_likelihood(log_pi, log_A, log_B, x):
    alpha = log_pi + log_B[:, x[0]]
    for t in range(1, len(x)):
        alpha = torch.logsumexp(alpha.unsqueeze(1) + log_A, dim=0) + log_B[:, x[t]]
    return torch.logsumexp(alpha, dim=0)


pi, A, B = (torch.zeros(K, requires_grad=True), torch.randn(K, K, requires_grad=True), torch.randn(K, M, requires_grad=True))
opt = torch.optim.Rprop([pi, A, B], lr=0.05)
for step in range(12):
    loss = -log_likelihood(pi.log_softmax(0), A.log_softmax(1), B.log_softmax(1), xs)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 3 == 0:
        print(f"{step} {loss.item():.6f}")
log_A = A.log_softmax(1).detach().requires_grad_()
log_B = B.log_softmax(1).detach().requires_grad_()
ll = log_likelihood(pi.log_softmax(0).detach(), log_A, log_B, xs[:T])
transitions, emissions = torch.autograd.grad(ll, (log_A, log_B))
print(f"expected transitions {transitions.sum().item():.4f} of {T - 1}, emissions {emissions.sum().item():.4f} of {T}")
new_A = transitions / transitions.sum(1, keepdim=True)
new_B = emissions / emissions.sum(1, keepdim=True)
better = log_likelihood(pi.log_softmax(0).detach(), new_A.log(), new_B.log().clamp_min(-50), xs[:T])
print(bool(better > ll), f"{ll.item():.6f} {better.item():.6f}")
score, back = pi.log_softmax(0).detach() + log_B[:, xs[0]].detach(), []
with torch.no_grad():
    for t in range(1, T):
        best, arg = (score[:, None] + log_A).max(dim=0)
        back.append(arg)
        score = best + log_B[:, xs[t]]
path = [score.argmax().item()]
for arg in reversed(back):
    path.insert(0, arg[path[0]].item())
print(path, f"{score.max():.6f}")
