"""The function under test, behind posvec's protocol: for any Python from 3.8 on, with nothing installed.

posvec verify --exec python3 posvec_target.py
"""

from __future__ import annotations

import base64
import json
import os
from typing import Any

NAME = "my port"
VERSION = "0.1"

stream = "partitionable"
"""Or "original", the random stream before JAX 0.5: which of them posvec asks for."""

# ---- The function under test: fill this in. --------------------------------------------------------------------------


def learned_pos_embed_forward(seed: int, T: int, d_model: int) -> Any:
    """Return the first T rows of the table, flattened: float32, shape (T * d_model,).

    T may be 0; seed may be any 64-bit integer. The result may be a NumPy array or any sequence of numbers. Compare your
    stages with those that this prints: posvec show --seed 7 --d-model 4 --explain --position 0 --feature 0
    """
    raise NotImplementedError("not implemented: fill in learned_pos_embed_forward")


# ---- The protocol (docs/protocol.md of posvec): nothing to change below. ---------------------------------------------


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a hello or a request."""
    global stream
    if "protocol" in message:
        stream = message["stream"]
        return {"protocol": 1, "name": NAME, "version": VERSION, "language": "Python"}
    case = message["id"]
    try:
        returned = learned_pos_embed_forward(message["seed"], message["T"], message["d_model"])
        if not hasattr(returned, "tobytes"):
            return {"id": case, "values": [float(value) for value in returned]}
        little = returned.astype(returned.dtype.newbyteorder("<"))
        data = base64.b64encode(little.tobytes()).decode()
        return {"id": case, "data": data, "dtype": returned.dtype.name, "shape": list(returned.shape)}
    except Exception as error:
        return {"id": case, "error": type(error).__name__ + ": " + str(error)}


def main() -> None:
    """Answer each line of standard input. What the function itself prints goes to standard error."""
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    for line in requests:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
