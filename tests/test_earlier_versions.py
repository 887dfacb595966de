"""What earlier versions wrote works, or is refused with the command that renews it.

`earlier_versions/DATE.tar.xz` holds a user's config file, the data that was prepared with it, a run
with exports, and its translations of `dev.en`.
"""

import contextlib
import json
import shutil
import tarfile
from pathlib import Path

import pytest
from support.processes.commands import command
from support.processes.in_process import call
from support.serving.serving_client import predict, served

ARCHIVES = sorted((Path(__file__).parent / "earlier_versions").glob("*.tar.xz"))


@pytest.fixture(scope="module", params=ARCHIVES, ids=lambda path: path.name)
def earlier(request, tmp_path_factory):
    """The folder of an earlier version's files. Tests change copies only."""
    folder = tmp_path_factory.mktemp("earlier")
    with tarfile.open(request.param) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize("model", ["run", "run/export_ctranslate2"])
def test_a_run_and_its_ctranslate2_folder_translate_as_they_did(earlier, model):
    sources = (earlier / "dev.en").read_text().splitlines(keepends=True)[:6]
    expected = (earlier / "run.out").read_text().splitlines()[:12]
    translated = call(
        "translate", "--n_best=2", "--scores", earlier / model, stdin="".join(sources)
    )
    scores, texts = columns(translated.stdout.splitlines())
    earlier_scores, earlier_texts = columns(expected)
    assert texts == earlier_texts
    # CTranslate2's arithmetic differs a little.
    assert scores == pytest.approx(earlier_scores, abs=0.01 if "2" in model else 2e-4)


def test_a_saved_model_is_refused_by_commands_with_the_command_that_renews_it(earlier):
    for arguments in (["translate"], ["evaluate", *dev_set(earlier)]):
        with pytest.raises(ValueError, match=r"Export the run again with t2t-export$"):
            call(*arguments, earlier / "run" / "export")


def test_a_ctranslate2_folder_takes_prefixes_and_rates_words_but_aligns_none(earlier):
    folder, first = earlier / "run" / "export_ctranslate2", "The dog sleeps.\n"
    for flag in ("--alignments", "--markup=html"):
        with pytest.raises(ValueError, match="t2t-export --format=ctranslate2 --force"):
            call("translate", folder, flag, stdin=first)
    flags = "--json", "--confidence", "--prefix=Die"
    (found,) = json.loads(call("translate", folder, *flags, stdin=first).stdout)["translations"]
    assert found["text"].startswith("Die")
    assert len(found["confidence"]) == len(found["text"].replace(".", " .").split())


def dev_set(earlier):
    return [f"--source={earlier / 'dev.en'}", f"--reference={earlier / 'dev.de'}"]


def columns(lines):
    scores, texts = zip(*(line.split("\t") for line in lines), strict=True)
    return [float(score) for score in scores], texts


@pytest.mark.long
def test_an_export_is_served(earlier):
    first = (earlier / "dev.en").read_text().splitlines()[0]
    expected = (earlier / "run.out").read_text().splitlines()[0].split("\t")[1]
    with served(earlier / "run") as (_, address):
        status, answer = predict(address, {"instances": [first]}, "v1/models/run:predict")
        assert (status, answer["predictions"][0]["translations"]) == (200, expected)


@pytest.mark.long
def test_a_training_is_resumed(earlier, tmp_path):
    shutil.copytree(earlier, tmp_path / "copy")
    with contextlib.chdir(tmp_path / "copy"):
        resumed = command("train", "--run=run", "--config.training.steps=450", "--noexport")
    assert "Resuming from step 300" in resumed.stderr, resumed.stderr


@pytest.mark.long
def test_prepared_data_and_a_config_file_begin_a_new_run(earlier, tmp_path):
    flags = f"--config={earlier / 'mine.py'}", f"--data={earlier / 'data'}"
    flags += f"--dev_source={earlier / 'dev.en'}", f"--dev_target={earlier / 'dev.de'}"
    flags += "--config.training.steps=2", "--config.training.checkpoint_every=2"
    trained = command("train", *flags, f"--run={tmp_path / 'new'}", "--noexport")
    assert trained.returncode == 0, trained.stderr
    assert (tmp_path / "new" / "averaged.weights.h5").exists()
