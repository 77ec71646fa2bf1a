"""Handwritten digits, learned by an MLP or a CNN, with PyTorch or with minigrad.

    python examples/digits.py --lib minigrad --model cnn

The script is a plain PyTorch training script: the one line that is unusual is the import of the library by its name.
With the same seed both libraries print the same losses. The data, 1,797 images of 8 × 8 pixels from scikit-learn,
come with that package: nothing is downloaded.
"""

import argparse
import importlib
import time

from sklearn.datasets import load_digits
from tqdm import tqdm

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--lib", choices=("minigrad", "torch"), default="minigrad")
parser.add_argument("--model", choices=("mlp", "cnn"), default="mlp")
parser.add_argument("--epochs", type=int, default=30)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--losses", type=int, default=50, help="print the loss of that many first steps")
parser.add_argument("--compile", action="store_true", help="compile the training step (minigrad alone)")
options = parser.parse_args()
if options.compile and options.lib != "minigrad":
    parser.error("--compile is for --lib minigrad: torch.compile wants a C++ compiler and takes minutes")

torch = importlib.import_module(options.lib)
nn, data = torch.nn, torch.utils.data


def datasets():
    """Images in 0 to 1, (1, 8, 8) each, and their digits: four fifths to learn from, one fifth to test with."""
    images, digits = load_digits(return_X_y=True)
    everything = data.TensorDataset(torch.tensor(images / 16, dtype=torch.float32).reshape(-1, 1, 8, 8),
                                    torch.tensor(digits, dtype=torch.int64))
    return data.random_split(everything, [0.8, 0.2], generator=torch.Generator().manual_seed(options.seed))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.3),
                         nn.Linear(256, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 10))


def cnn():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(128, 10))


def accuracy(model, loader):
    """The share of images whose digit is found. eval() turns dropout off; no_grad() records no graph."""
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return right / len(loader.dataset)


def main():
    torch.manual_seed(options.seed)
    train, test = datasets()
    batches = data.DataLoader(train, batch_size=64, shuffle=True)
    model = {"mlp": mlp, "cnn": cnn}[options.model]()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.epochs * len(batches))

    def training_step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    if options.compile:
        training_step = torch.compile(training_step)
    start, step = time.perf_counter(), 0
    for _ in tqdm(range(options.epochs), desc=options.model, unit="epoch"):
        model.train()
        for x, y in batches:
            loss = training_step(x, y)
            scheduler.step()
            if step < options.losses:
                tqdm.write(f"step {step:2d}  loss {loss.item():.3g}")
            step += 1
    tqdm.write(f"test accuracy {accuracy(model, data.DataLoader(test, batch_size=512)):.4f}")
    tqdm.write(f"seconds {time.perf_counter() - start:.1f}")


if __name__ == "__main__":
    main()
