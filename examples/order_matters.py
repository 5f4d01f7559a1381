"""Why attention needs positions: a small classifier that must tell a sequence from its reverse, with and without them.

Each pair of samples is a sequence of different letters, whose first comes before its last in the alphabet, and the
same sequence reversed. One layer of self-attention, a feed-forward layer and a mean over the tokens must tell which is
which. Neither attention nor the mean knows the order of its inputs: without positions both members of a pair give the
same numbers, so that no training can do better than guess.

Run it; it takes less than a minute on two cores and writes a picture of both curves:

    python examples/order_matters.py [PICTURE] [--steps N] [--seed N]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch import Tensor, nn

VOCABULARY, LENGTH, WIDTH, HEADS, BATCH = 26, 10, 32, 4, 64
EVALUATE_EVERY = 10


class Classifier(nn.Module):
    """A mean over one Transformer layer.

    Args:
        with_positions: Whether a learned position embedding is added to the token embedding.

    """

    def __init__(self, *, with_positions: bool) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH) if with_positions else None
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.feed_forward = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
        self.classes = nn.Linear(WIDTH, 2)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the scores of "as it was" and "reversed".

        Args:
            ids: Letters, int64 of shape (B, L).

        Returns:
            float32 of shape (B, 2).

        """
        x = self.tokens(ids)
        if self.positions is not None:
            x = x + self.positions.weight[: ids.shape[1]]
        x = x + self.attention(x, x, x, need_weights=False)[0]
        x = x + self.feed_forward(x)
        scores: Tensor = self.classes(x.mean(dim=1))
        return scores


def samples(pairs: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return sequences whose first letter comes before their last, each followed by its reverse, and their classes.

    Args:
        pairs: How many of each.
        generator: Source of the letters.

    Returns:
        int64 of shape (2 * pairs, LENGTH), and 0 or 1 for each, int64 of shape (2 * pairs,).

    """
    letters = torch.rand(pairs, VOCABULARY, generator=generator).argsort(dim=1)[:, :LENGTH]
    forward = torch.where(letters[:, :1] < letters[:, -1:], letters, letters.flip(1))
    both = torch.stack([forward, forward.flip(1)], dim=1).reshape(2 * pairs, LENGTH)
    return both, torch.tensor([0, 1]).repeat(pairs)


def train(*, with_positions: bool, steps: int, seed: int) -> list[float]:
    """Train a classifier and return its accuracy on unseen pairs, before the first step and after every tenth."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed + 1)
    unseen, answers = samples(250, generator)
    model = Classifier(with_positions=with_positions)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    curve = []
    for step in range(steps + 1):
        if step % EVALUATE_EVERY == 0:
            with torch.no_grad():
                curve.append((model(unseen).argmax(dim=1) == answers).float().mean().item())
        ids, classes = samples(BATCH // 2, generator)
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(ids), classes).backward()
        optimizer.step()
    return curve


def draw(curves: dict[str, list[float]], path: Path) -> None:
    """Write the curves as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
    for (name, curve), color in zip(curves.items(), ("tab:blue", "tab:orange"), strict=True):
        axes.plot([EVALUATE_EVERY * i for i in range(len(curve))], [100 * value for value in curve], color, label=name)
    axes.axhline(50, color="gray", linewidth=0.8, linestyle=":", label="guessing")
    axes.set(xlabel="training step", ylabel="accuracy on unseen pairs, %", ylim=(40, 102))
    axes.set_title("A sequence or its reverse?")
    axes.legend(loc="center right")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    """Train both, print where they end and draw how they got there."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("picture", nargs="?", type=Path, default=Path("order_matters.png"), help="PNG, SVG or PDF")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)  # the matrices are small: more threads only wait for each other
    curves = {}
    for name, with_positions in (("with positions", True), ("without positions", False)):
        curves[name] = train(with_positions=with_positions, steps=options.steps, seed=options.seed)
        print(f"{name:18} {curves[name][-1]:7.1%} of unseen sequences right after {options.steps} steps", flush=True)
    draw(curves, options.picture)
    print(f"curves: {options.picture}")


if __name__ == "__main__":
    main()
