"""What the output of t2t-translate depends on, besides its input."""

import json
import os
import shutil
import threading

import pytest
from in_process import parsed_flags
from untrained import learned_tokenizer, toy_tokenizer, untrained_run

from t2t_keras.cli.translation_model import from_runs, requirements_for
from t2t_keras.runs import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("translation_model")
    tokenizer = toy_tokenizer(folder / "vocabulary")
    return untrained_run(folder / "run", folder / "vocabulary", tokenizer, end=4.0).folder


@pytest.mark.long
def test_a_chosen_alignment_is_part_of_what_the_output_depends_on(run, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    with parsed_flags("translate", "--alignments"):
        default = from_runs([tmp_path / "run"]).identity
        Run(tmp_path / "run").choose_alignment(["The dog sleeps."], ["Der Hund schläft."])
        chosen = from_runs([tmp_path / "run"]).identity
    assert "alignment" not in default
    assert chosen["alignment"]["layer"] == 0
    with parsed_flags("translate"):
        assert from_runs([tmp_path / "run"]).identity == default


def test_the_phrases_of_a_glossary_are_part_of_it_and_read_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    identities = []
    for phrases in ("dog\tHund\n", "dog\tguter Hund\n"):
        writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=[phrases])
        writer.start()
        with parsed_flags("translate", f"--glossary={tmp_path / 'pipe'}"):
            identities.append({})
            requirements_for(learned_tokenizer, identities[-1])
        writer.join()
    assert identities[0]["glossary"] != identities[1]["glossary"]


@pytest.mark.long
def test_the_identity_of_a_model_changes_with_weights_and_search(run, tmp_path):
    identities = []
    for folder, *flags in [
        (run,),
        (run,),
        (run, "--beam=1"),
        (run, run),
        (make_other(run, tmp_path),),
    ]:
        with parsed_flags("translate", *flags):
            folders = [
                str(folder),
                *(str(each) for each in flags if not str(each).startswith("--")),
            ]
            identities.append(json.dumps(from_runs(folders).identity))
    assert identities[0] == identities[1] and len(set(identities)) == 4


def make_other(run, tmp_path):
    """Returns a copy of a run with different weights."""
    other = Run(shutil.copytree(run, tmp_path / "other"))
    model = other.model()
    model.embedding.bias.assign(model.embedding.bias + 1)
    model.save_weights(other.averaged_weights)
    return other.folder
