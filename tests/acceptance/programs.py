"""Building programs of other languages, and speaking the protocol of docs/protocol.md with them."""

import base64
import json
import shutil
import subprocess
from functools import cache

import jsonschema
import numpy as np
import pytest

from posvec.vectors.derive import table_draws
from posvec.vectors.draws import DrawTable
from posvec.verifier.scaffolds.languages import LANGUAGES, Language
from tests.acceptance.conftest import ROOT

PORTS = ROOT / "examples" / "ports"
SCHEMA = json.loads((ROOT / "schemas" / "protocol.schema.json").read_text())
NAMES = [language.name for language in LANGUAGES]
PORTED = ["c", "javascript", "rust"]
EXTREMES = (0, -1, 2**31, 2**32, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63))


def build(name, source):
    """Compile ``source`` beside itself, without a warning, and return the words that start it."""
    language = Language.parse(name)
    compiler = language.build_words(source)
    tool = (compiler or language.run_words(source))[0]
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    if compiler:
        done = subprocess.run(compiler, capture_output=True, text=True, check=True)
        assert done.stderr == ""
    return language.run_words(source)


def converse(words, requests, *, stream="partitionable"):
    """Say hello, ask all requests, end the input; return the answers by id, each checked against the schema."""
    messages = [{"protocol": 1, "suite": "learned_pos_embed", "stream": stream}]
    for number, (seed, T, d_model) in enumerate(requests):
        messages.append({"id": number, "seed": seed, "T": T, "d_model": d_model})
        if abs(seed) > 2**53:
            messages[-1] |= {"seed_lo": seed & 0xFFFFFFFF, "seed_hi": seed >> 32 & 0xFFFFFFFF}
    text = "".join(f"{json.dumps(message)}\n" for message in messages)
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=True, timeout=120)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for message in (*messages, *answers):
        validator.validate(message)
    hello = answers.pop(0)
    assert hello["protocol"] == 1
    assert [answer["id"] for answer in answers] == list(range(len(requests)))
    return answers


def values(answer):
    """Return the array that an answer holds."""
    if "values" in answer:
        return np.array(answer["values"], np.float64).astype(np.float32)
    return np.frombuffer(base64.b64decode(answer["data"]), answer["dtype"]).reshape(answer["shape"])


@cache
def _rounded():
    return DrawTable.load().correctly_rounded()


def true_values(seed, T, d_model, stream):
    """Return the correctly rounded values of a case."""
    return _rounded()[table_draws([seed], d_model, stream=stream)[0, :T].reshape(-1)]
