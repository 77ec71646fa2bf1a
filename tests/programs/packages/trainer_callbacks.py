"""A trainer with modules that configure themselves, callbacks, early stopping and logs, as training frameworks offer."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_default_dtype(torch.float64)


class Callback:
    def __getattr__(self, name):
        if name.startswith("on_"):
            return lambda *args: None
        raise AttributeError(name)


class EarlyStopping(Callback):
    def __init__(self, monitor="val_loss", patience=2, min_delta=1e-3):
        self.monitor, self.patience, self.min_delta, self.best, self.wait = monitor, patience, min_delta, float("inf"), 0

    def on_validation_end(self, trainer, module):
        current = trainer.metrics[self.monitor]
        if current < self.best - self.min_delta:
            self.best, self.wait = current, 0
            trainer.best_state = {k: v.detach().clone() for k, v in module.state_dict().items()}
        else:
            self.wait += 1
            trainer.should_stop = self.wait >= self.patience


class GradientMonitor(Callback):
    def on_after_backward(self, trainer, module):
        norms = torch._foreach_norm([p.grad for p in module.parameters()]) if hasattr(torch, "_foreach_norm") else \
            [p.grad.norm() for p in module.parameters()]
        trainer.metrics["grad_norm"] = torch.stack(list(norms)).norm().item()


class LightModule(nn.Module):
    def __init__(self, lr):
        super().__init__()
        self.lr = lr
        self.layers = nn.Sequential(nn.Linear(3, 16), nn.GELU(), nn.Dropout(0.1), nn.Linear(16, 1))

    def forward(self, x):
        return self.layers(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        return nn.functional.mse_loss(self(x), y)

    validation_step = training_step

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=self.lr)
        return {"optimizer": optimizer, "lr_scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)}


class Trainer:
    def __init__(self, max_epochs, callbacks=(), gradient_clip_val=None):
        self.max_epochs, self.callbacks, self.clip = max_epochs, list(callbacks), gradient_clip_val
        self.metrics, self.should_stop, self.best_state = {}, False, None

    def call(self, hook, module):
        for callback in self.callbacks:
            getattr(callback, hook)(self, module)

    def fit(self, module, train, val):
        config = module.configure_optimizers()
        optimizer, scheduler = config["optimizer"], config["lr_scheduler"]
        for self.epoch in range(self.max_epochs):
            module.train()
            for i, batch in enumerate(train):
                optimizer.zero_grad(set_to_none=True)
                loss = module.training_step(batch, i)
                loss.backward()
                self.call("on_after_backward", module)
                if self.clip:
                    nn.utils.clip_grad_norm_(module.parameters(), self.clip)
                optimizer.step()
            scheduler.step()
            module.eval()
            with torch.no_grad():
                self.metrics["val_loss"] = torch.stack([module.validation_step(b, i) for i, b in enumerate(val)]).mean().item()
            self.call("on_validation_end", module)
            print(f"epoch {self.epoch}", " ".join(f"{k}={v:.6f}" for k, v in sorted(self.metrics.items())),
                  f"lr={optimizer.param_groups[0]['lr']:.5f}")
            if self.should_stop:
                break


torch.manual_seed(3)
x = torch.randn(60, 3)
y = (x ** 2).sum(dim=1, keepdim=True)
train, val = DataLoader(TensorDataset(x[:48], y[:48]), 12, shuffle=True), DataLoader(TensorDataset(x[48:], y[48:]), 6)
module, stop = LightModule(lr=0.05), EarlyStopping()
trainer = Trainer(8, [stop, GradientMonitor()], gradient_clip_val=1.0)
trainer.fit(module, train, val)
module.load_state_dict(trainer.best_state)
print(f"best {stop.best:.6f}", stop.wait, module.training)
print(module)
