"""REINFORCE with a baseline on a pole to be balanced, the environment being twenty lines of arithmetic."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

torch.manual_seed(543)
torch.set_default_dtype(torch.float64)
eps = torch.finfo(torch.float64).eps


class CartPole:
    def reset(self):
        self.state = (torch.rand(4) - 0.5) * 0.1
        return self.state

    def step(self, action):
        x, v, theta, w = self.state.tolist()
        force = 10.0 if action == 1 else -10.0
        temp = (force + 0.05 * w ** 2 * math.sin(theta)) / 1.1
        acceleration = (9.8 * math.sin(theta) - math.cos(theta) * temp) / (0.5 * (4 / 3 - 0.1 * math.cos(theta) ** 2 / 1.1))
        self.state = torch.tensor([x + 0.02 * v, v + 0.02 * (temp - 0.05 * acceleration * math.cos(theta) / 1.1),
                                   theta + 0.02 * w, w + 0.02 * acceleration])
        return self.state, 1.0, abs(self.state[2]) > 0.21 or abs(self.state[0]) > 2.4


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(4, 16)
        self.dropout = nn.Dropout(p=0.2)
        self.action_head = nn.Linear(16, 2)
        self.value_head = nn.Linear(16, 1)

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)


policy, env = Policy(), CartPole()
optimizer = optim.Adam(policy.parameters(), lr=3e-2)
lengths = []
for i_episode in range(5):
    state, saved, rewards = env.reset(), [], []
    for t in range(40):
        probs, value = policy(state.unsqueeze(0))
        action = torch.multinomial(probs.detach(), 1)
        saved.append((probs.gather(1, action).log().squeeze(), value))
        state, reward, done = env.step(action.item())
        rewards.append(reward)
        if done:
            break
    R, returns = 0, []
    for r in rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    policy_losses, value_losses = [], []
    for (log_prob, value), R in zip(saved, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value.view(1), torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    lengths.append(len(rewards))
    print(f"episode {i_episode} length {len(rewards)} loss {loss.item():.6f} grad {policy.affine1.weight.grad.norm():.6f}")
print(lengths, policy.action_head.bias.data)
