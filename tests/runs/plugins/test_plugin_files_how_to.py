"""The plug-in files of the how-to pages, from training to a served answer, of two users."""

import re
import shutil
from pathlib import Path

import pytest
from support.processes.commands import TINY_RUN, command, running
from support.serving.serving_client import predict

import t2t_keras
from t2t_keras.layers import Encoder, block

ROOT = Path(t2t_keras.__file__).parent
PAGES = (
    "runs/how_to_plug_in.md",
    "training/how_to_change_the_loss_or_optimizer.md",
    "layers/README.md",
)
CONFIG = "gated_config.py"
PLUGINS = ("rotary.py", "gated.py", "short.py", "focal.py", "sgd.py", "gated_block.py")
TEXT = "The dog sleeps."


def examples():
    """Returns {name: text} of the pages' files."""
    found = {}
    for page in PAGES:
        text = (ROOT / page).read_text("utf-8")
        form = r"`(\w+\.py)`[^\n]*(?:\n[^\n`]+)*\n\n```py(?:thon)?\n(.*?)```"
        found |= dict(re.findall(form, text, re.DOTALL))
    return {name: found[name] for name in (*PLUGINS, CONFIG)}


def test_every_example_has_at_most_20_lines():
    for name, text in examples().items():
        assert sum(bool(line.strip()) for line in text.splitlines()) <= 20, name


def test_the_gated_block_obeys_initializers_and_regularizers(monkeypatch):
    monkeypatch.setattr(block, "BLOCKS", dict(block.BLOCKS))
    exec(examples()["gated_block.py"], file := {})
    options = {"kernel_initializer": "ones", "kernel_regularizer": "l2"}
    encoder = Encoder(
        1, d_model=8, d_ff=16, num_heads=2, block_class=file["GatedEncoderBlock"], **options
    )
    encoder.build((None, None, 8))
    kernels = [weight for weight in encoder.weights if weight.path.endswith("kernel")]
    assert len(kernels) == 4 + 3
    assert all(w.regularizer is not None and (w.numpy() == 1).all() for w in kernels)


def served_answers(models, environment):
    """Returns the answers over HTTP to TEXT.

    Args:
        models: {name: folder of a run or of its exports}.
        environment: changes to the environment variables of the server.
    """
    named = [f"{name}={folder}" for name, folder in models.items()]
    with running("serve", *named, "--port=0", environment=environment) as process:
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
def test_plug_ins_go_from_training_to_another_user(tmp_path):
    user = {"XDG_CONFIG_HOME": str(tmp_path / "mine")}

    def call(*arguments, **options):
        return command(*arguments, environment=dict(user), **options)

    for name, text in examples().items():
        (tmp_path / name).write_text(text)
    imports = [tmp_path / name for name in PLUGINS if name != "gated.py"]  # which the config loads
    run = tmp_path / "run"
    flags = [
        f"--config={tmp_path / CONFIG}",
        *(f"--imports={path}" for path in imports),
        "--config.model.positions=rotary",
        "--config.model.block=gated",
        "--config.training.loss=focal",
        "--config.training.loss_options=gamma=1",
        "--config.training.optimizer=sgd",
        "--config.training.schedule=cosine",
        "--config.training.warmup_steps=2",
        "--config.search.method=short",
        *TINY_RUN,
    ]
    train = ["train", f"--run={run}", "--noexport"]
    begun = call(*train, *flags, "--config.training.steps=3")
    assert begun.returncode == 0, begun.stderr
    for name in examples():
        (tmp_path / name).unlink()  # the run has copies
    text = examples()[CONFIG]
    for old, new in {
        "t2t_keras.plugins import load_plugin": "t2t_keras.models import MODELS",
        'load_plugin("gated.py").GatedConfig': 'MODELS["gated"].config_class',
    }.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / CONFIG).write_text(text)
    settings = [flag for flag in flags if not flag.startswith("--imports")]
    resumed = call(*train, *settings, "--config.training.steps=4")
    assert resumed.returncode == 0, resumed.stderr
    for form in ("saved_model", "litert"):
        exported = call("export", run, f"--format={form}")
        assert exported.returncode == 0, exported.stderr
    answers = set()
    for folder, engine in ((run, "litert"), (run / "export", "auto")):
        found = call("translate", folder, f"--engine={engine}", stdin=f"{TEXT}\n")
        assert found.returncode == 0, found.stderr
        answers.add(found.stdout)
    answers |= served_answers({"run": run, "export": run / "export"}, user)
    assert len(answers) == 1
    refused = call("export", run, "--format=ctranslate2")
    assert refused.returncode == 2 and "CTranslate2 has no other" in refused.stderr

    assert call("export", run, "--format=hub").returncode == 0
    assert "`imports/gated.py`" in (run / "export_hub" / "README.md").read_text("utf-8")
    refused = call("export", run, "--format=ctranslate2", "--method=beam")
    assert refused.returncode == 2 and "those of a Transformer" in refused.stderr
    theirs = shutil.copytree(run, tmp_path / "theirs")
    user["XDG_CONFIG_HOME"] = str(tmp_path / "another")
    exported = call("translate", theirs / "export", stdin=f"{TEXT}\n")
    assert exported.stdout in answers  # an export needs no file
    for refused in (
        call("translate", theirs, "--engine=litert", stdin=f"{TEXT}\n"),
        call("serve", theirs, "--port=0"),
    ):
        assert refused.returncode == 2 and "--trust" in refused.stderr and not refused.stdout
    ask = ["translate", theirs, "--engine=tensorflow"]
    trusted = call(*ask, "--trust", stdin=f"{TEXT}\n")
    assert trusted.stdout in answers
    assert trusted.stderr.count("is executed (SHA-256") == len(PLUGINS)
    assert served_answers({"theirs": theirs}, user) == answers
