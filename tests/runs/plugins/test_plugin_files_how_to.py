"""The plug-in files of the how-to pages, from training to a served answer."""

import re
from pathlib import Path

import pytest
from support.processes.commands import TINY_RUN, command, running
from support.serving.serving_client import predict

import t2t_keras
from t2t_keras.layers import Encoder, decoder

ROOT = Path(t2t_keras.__file__).parent
PAGES = (
    "runs/how_to_plug_in.md",
    "training/how_to_change_the_loss_or_optimizer.md",
    "layers/README.md",
)
CONFIG = "gated_config.py"
PLUGINS = (
    *("rotary.py", "gated.py", "short.py", "focal.py", "sgd.py", "gated_block.py", "balanced.py"),
)
TEXT = "The dog sleeps."


def examples():
    """Returns {name: text} of the pages' files."""
    found = {}
    for page in PAGES:
        text = (ROOT / page).read_text("utf-8")
        form = r"`(\w+\.py)`[^\n]*(?:\n[^\n`]+)*\n\n```py(?:thon)?\n(.*?)```"
        found |= dict(re.findall(form, text, re.DOTALL))
    return {name: found[name] for name in (*PLUGINS, CONFIG)}


def test_the_gated_block_obeys_initializers_and_regularizers(monkeypatch):
    monkeypatch.setattr(decoder, "BLOCKS", dict(decoder.BLOCKS))
    exec(examples()["gated_block.py"], file := {})
    options = {"kernel_initializer": "ones", "kernel_regularizer": "l2"}
    encoder = Encoder(
        1, d_model=8, d_ff=16, num_heads=2, block_class=file["GatedEncoderBlock"], **options
    )
    encoder.build((None, None, 8))
    kernels = [weight for weight in encoder.weights if weight.path.endswith("kernel")]
    assert len(kernels) == 4 + 3
    assert all(w.regularizer is not None and (w.numpy() == 1).all() for w in kernels)


def served_answers(models):
    """Returns the answers over HTTP to TEXT.

    Args:
        models: {name: folder of a run or of its exports}.
    """
    named = [f"{name}={folder}" for name, folder in models.items()]
    with running("serve", *named, "--port=0", "--trust") as process:
        address = re.search(r"http://[^/]+", process.line()).group()
        answers = set()
        for name in models:
            status = 503  # still loading
            while status == 503:
                path = f"v1/models/{name}:predict"
                status, answer = predict(address, {"instances": [TEXT]}, path)
            assert status == 200
            answers.add(answer["predictions"][0]["translations"] + "\n")
    return answers


@pytest.mark.long
def test_plug_ins_go_from_training_to_a_served_answer(tmp_path):
    def call(*arguments, code=0):
        found = command(*arguments, stdin=f"{TEXT}\n")
        assert found.returncode == code, found.stderr
        return found

    for name, text in examples().items():
        (tmp_path / name).write_text(text)
    (tmp_path / "exponent.txt").write_text("0.25")
    run = tmp_path / "run"
    flags = [
        f"--run={run}",
        f"--config={tmp_path / CONFIG}",
        "--config.model.positions=rotary",
        "--config.model.block=gated",
        "--config.model.block_options=gate=gelu",
        "--config.training.loss=focal",
        "--config.training.loss_options=gamma=1",
        "--config.training.optimizer=sgd",
        "--config.training.schedule=cosine",
        "--config.training.warmup_steps=2",
        "--config.search.method=short",
        *TINY_RUN,
    ]
    imports = [tmp_path / name for name in PLUGINS if name != "gated.py"]  # which the config loads
    begun = [*(f"--imports={path}" for path in imports), "--config.training.steps=3", "--noexport"]
    call("train", *flags, *begun)
    for name in examples():
        (tmp_path / name).unlink()  # the run has copies
    (tmp_path / "exponent.txt").unlink()
    assert (run / "imports" / "weights.npy").exists()
    text = examples()[CONFIG]
    for old, new in {
        "t2t_keras.plugins import load_plugin": "t2t_keras.models import MODELS",
        'load_plugin("gated.py").GatedConfig': 'MODELS["gated"].config_class',
    }.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / CONFIG).write_text(text)
    call("train", *flags, "--config.training.steps=4", "--trust")
    answers = {call("translate", run / "export").stdout}
    answers |= served_answers({"run": run, "export": run / "export"})
    refused = call("translate", run, "--engine=litert", code=2)
    assert "--trust" in refused.stderr and not refused.stdout
    for engine in ("litert", "tensorflow"):
        trusted = call("translate", run, f"--engine={engine}", "--trust")
        answers.add(trusted.stdout)
    assert len(answers) == 1
    assert trusted.stderr.count("is executed (SHA-256") == len(PLUGINS)
