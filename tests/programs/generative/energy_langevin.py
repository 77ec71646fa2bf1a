"""An energy-based model trained by contrastive divergence with a replay buffer of Langevin samples."""
import torch
import torch.nn as nn

torch.manual_seed(17)
torch.set_default_dtype(torch.float64)


class Swish(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)


class Sampler:
    def __init__(self, model, size=16):
        self.model, self.size = model, size
        self.examples = [torch.rand((1, 2)) * 2 - 1 for _ in range(size)]

    def sample_new_examples(self, steps=8, step_size=0.1):
        n_new = int(torch.empty(self.size).bernoulli_(0.2).sum())
        fresh = torch.rand((n_new, 2)) * 2 - 1
        old = torch.cat([self.examples[i] for i in torch.randperm(len(self.examples))[: self.size - n_new]], dim=0)
        samples = self.generate(torch.cat([fresh, old], dim=0).detach(), steps, step_size)
        self.examples = (list(samples.chunk(self.size, dim=0)) + self.examples)[: 4 * self.size]
        return samples

    def generate(self, x, steps, step_size):
        was_training = self.model.training
        self.model.eval()
        for p in self.model.parameters():
            p.requires_grad = False
        had = torch.is_grad_enabled()
        torch.set_grad_enabled(True)
        x.requires_grad = True
        noise = torch.empty_like(x)
        for _ in range(steps):
            noise.normal_(0, 0.05)
            x.data.add_(noise.data)
            energy = -self.model(x)
            energy.sum().backward()
            x.grad.data.clamp_(-0.5, 0.5)
            x.data.add_(-step_size * x.grad.data)
            x.grad.detach_()
            x.grad.zero_()
        for p in self.model.parameters():
            p.requires_grad = True
        self.model.train(was_training)
        torch.set_grad_enabled(had)
        return x.detach()


model = nn.Sequential(nn.Linear(2, 16), Swish(), nn.Linear(16, 16), Swish(), nn.Linear(16, 1))
sampler = Sampler(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.0, 0.999))
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5, gamma=0.5)
for step in range(12):
    angle = torch.rand(16) * 6.28
    real = 0.7 * torch.stack([angle.cos(), angle.sin()], 1) + 0.01 * torch.randn(16, 2)
    fake = sampler.sample_new_examples()
    real_out, fake_out = model(torch.cat([real, fake], dim=0)).chunk(2, dim=0)
    reg_loss = 0.1 * (real_out ** 2 + fake_out ** 2).mean()
    cdiv_loss = fake_out.mean() - real_out.mean()
    loss = reg_loss + cdiv_loss
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(model.parameters(), 0.1)
    optimizer.step()
    scheduler.step()
    if step % 3 == 0:
        print(f"{step:2d} loss {loss:.6f} divergence {cdiv_loss:.6f} buffer {len(sampler.examples)}")
print(f"{fake.norm(dim=1).mean():.5f}", scheduler.get_last_lr(), model[0].weight.requires_grad)
