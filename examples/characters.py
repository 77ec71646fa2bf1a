"""A character transformer of two layers, trained on this project's own documentation, with PyTorch or with minigrad.

    python examples/characters.py --lib minigrad --steps 300

It learns to guess the next character, prints its loss, and then writes some text of its own. With the same seed both
libraries print the same losses.
"""

import argparse
import importlib
import re
import time
from pathlib import Path

from tqdm import tqdm

parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
parser.add_argument("--lib", choices=("minigrad", "torch"), default="minigrad")
parser.add_argument("--steps", type=int, default=300)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--losses", type=int, default=50, help="print the loss of that many first steps")
parser.add_argument("--write", type=int, default=200, help="write that many characters at the end")
options = parser.parse_args()

torch = importlib.import_module(options.lib)
nn = torch.nn

WIDTH, HEADS, LENGTH, BATCH = 64, 4, 64, 16
TEXT = re.sub(r"\]\(.*?\)", "]", Path(__file__).parents[1].joinpath("docs", "engine.md").read_text(encoding="utf-8"))
ALPHABET = sorted(set(TEXT))


class CharacterTransformer(nn.Module):
    """(batch, length) characters as numbers → (batch, length, alphabet) scores of the next one."""

    def __init__(self):
        super().__init__()
        self.character = nn.Embedding(len(ALPHABET), WIDTH)
        self.position = nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.1, activation="gelu", batch_first=True,
                                           norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(WIDTH), enable_nested_tensor=False)
        self.scores = nn.Linear(WIDTH, len(ALPHABET))

    def forward(self, characters):
        length = characters.shape[1]
        x = self.character(characters) + self.position(torch.arange(length))
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        return self.scores(self.layers(x, mask=mask, is_causal=True))


def batch(text):
    """Pieces of the text, and the same pieces one character later."""
    starts = torch.randint(len(text) - LENGTH, (BATCH,)).tolist()
    return (torch.stack([text[s:s + LENGTH] for s in starts]),
            torch.stack([text[s + 1:s + LENGTH + 1] for s in starts]))


@torch.no_grad()
def write(model, length):
    """Text that the model makes up, one character after the other."""
    model.eval()
    written = torch.tensor([[ALPHABET.index("\n")]])
    for _ in range(length):
        scores = model(written[:, -LENGTH:])[0, -1]
        following = torch.multinomial(scores.softmax(0), 1)
        written = torch.cat([written, following[None]], 1)
    return "".join([ALPHABET[number] for number in written[0].tolist()])


def main():
    torch.manual_seed(options.seed)
    text = torch.tensor([ALPHABET.index(character) for character in TEXT])
    model = CharacterTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    start = time.perf_counter()
    for step in tqdm(range(options.steps), unit="step"):
        inputs, targets = batch(text)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step < options.losses:
            tqdm.write(f"step {step:2d}  loss {loss.item():.3g}")
    tqdm.write(f"last loss {loss.item():.3g}")
    tqdm.write(f"seconds {time.perf_counter() - start:.1f}")
    if options.write:
        tqdm.write(write(model, options.write))


if __name__ == "__main__":
    main()
