"""Learning from rewards: a policy by its gradient, and Q-values with a memory and a target network."""
import math
import random
from collections import deque, namedtuple
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

random.seed(0)
torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
policy = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2)).to(device)
optimizer = optim.Adam(policy.parameters(), lr=2e-2)
for episode in range(12):
    place, log_probs, rewards = 2, [], []
    while 0 < place < 5 and len(rewards) < 30:
        state = F.one_hot(torch.tensor(place), 6).float().unsqueeze(0)
        probs = F.softmax(policy(state), dim=-1)
        action = torch.multinomial(probs, 1).item()
        log_probs.append(torch.log(probs[0, action]))
        place += 1 if action else -1
        rewards.append(float(place == 5) - 0.01)
    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + 0.9 * total
        returns.insert(0, total)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std(unbiased=False) + 1e-6)
    loss = -(torch.stack(log_probs) * returns).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if episode % 3 == 0:
        print(f"episode {episode}: {len(rewards)} steps, return {sum(rewards):.2f}, loss {loss.item():.4f}")

Transition = namedtuple("Transition", "state action next_state reward")
memory = deque(maxlen=200)


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(2, 16), nn.Linear(16, 2)

    def forward(self, x):
        return self.out(F.relu(self.hidden(x)))


q, target = DQN().to(device), DQN().to(device)
target.load_state_dict(q.state_dict())
optimizer = optim.AdamW(q.parameters(), lr=1e-3, amsgrad=True)


def learn(size=16):
    batch = Transition(*zip(*random.sample(memory, size)))
    going = torch.tensor([s is not None for s in batch.next_state], device=device, dtype=torch.bool)
    values = q(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
    after = torch.zeros(size, device=device)
    with torch.no_grad():
        after[going] = target(torch.cat([s for s in batch.next_state if s is not None])).max(1).values
    loss = nn.SmoothL1Loss()(values, (torch.cat(batch.reward) + 0.99 * after).unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(q.parameters(), 100)
    optimizer.step()
    weights, slow = q.state_dict(), target.state_dict()
    for name in weights:
        slow[name] = 0.05 * weights[name] + 0.95 * slow[name]
    target.load_state_dict(slow)
    return loss.item()


taken = 0
for episode in range(8):
    place, losses = 0.0, []
    state = torch.tensor([[place, 1.0]], device=device)
    for _ in range(15):
        taken += 1
        if random.random() > 0.05 + 0.85 * math.exp(-taken / 30):
            with torch.no_grad():
                action = q(state).max(1).indices.view(1, 1)
        else:
            action = torch.tensor([[random.randrange(2)]], device=device, dtype=torch.long)
        place += 0.2 if action.item() else -0.2
        following = None if abs(place) > 1 else torch.tensor([[place, 1.0]], device=device)
        memory.append(Transition(state, action, following, torch.tensor([place], device=device)))
        if len(memory) >= 16:
            losses.append(learn())
        state = following
        if state is None:
            break
    print(episode, f"{place:.1f}", [f"{loss:.4f}" for loss in losses[-2:]])
