"""Deep Q-learning with replay memory, a target network and soft updates on a chain of states."""
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(5)
random.seed(5)
torch.set_default_dtype(torch.float64)
Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))
N, GAMMA, TAU = 6, 0.9, 0.05


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


def observe(s):
    return nn.functional.one_hot(torch.tensor([s]), N).to(torch.get_default_dtype())


policy_net = nn.Sequential(nn.Linear(N, 16), nn.ReLU(), nn.Linear(16, 2))
target_net = nn.Sequential(nn.Linear(N, 16), nn.ReLU(), nn.Linear(16, 2))
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=1e-2, amsgrad=True)
memory, steps_done = ReplayMemory(100), 0


def optimize_model(batch_size=16):
    if len(memory) < batch_size:
        return None
    batch = Transition(*zip(*memory.sample(batch_size)))
    non_final_mask = torch.tensor(tuple(map(lambda s: s is not None, batch.next_state)), dtype=torch.bool)
    non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
    state_action_values = policy_net(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
    next_state_values = torch.zeros(batch_size)
    with torch.no_grad():
        next_state_values[non_final_mask] = target_net(non_final_next_states).max(1).values
    expected = (next_state_values * GAMMA) + torch.cat(batch.reward)
    loss = nn.SmoothL1Loss()(state_action_values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    return loss.item()


for episode in range(8):
    s, loss, total = 0, None, 0.0
    for t in range(15):
        epsilon = 0.9 * 0.97 ** steps_done
        steps_done += 1
        if random.random() > epsilon:
            with torch.no_grad():
                action = policy_net(observe(s)).max(1).indices.view(1, 1)
        else:
            action = torch.tensor([[random.randrange(2)]], dtype=torch.long)
        new = max(0, s - 1) if action.item() == 0 else s + 1
        reward = torch.tensor([1.0 if new == N - 1 else -0.05])
        memory.push(observe(s), action, None if new == N - 1 else observe(new), reward)
        total += reward.item()
        loss = optimize_model()
        target_state, policy_state = target_net.state_dict(), policy_net.state_dict()
        for key in policy_state:
            target_state[key] = policy_state[key] * TAU + target_state[key] * (1 - TAU)
        target_net.load_state_dict(target_state)
        s = new
        if s == N - 1:
            break
    print(episode, t + 1, f"{total:.2f}", "-" if loss is None else f"{loss:.6f}")
with torch.no_grad():
    print(policy_net(torch.eye(N)).argmax(1), f"{target_net(torch.eye(N)).mean():.6f}")
