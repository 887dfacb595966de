"""What the output of t2t-translate depends on, besides its input."""

import json
import shutil

import pytest
from support.processes.in_process import parsed_flags

from t2t_keras.decoding.search import METHODS
from t2t_keras.runs import Run
from t2t_keras.training.checkpoints import model_state
from t2t_keras.translating.request import MBR


def identity(*arguments):
    """Returns the identity of the `TranslationModel` that t2t-translate loads."""
    with parsed_flags("translate", *arguments) as module:
        folders = [str(each) for each in arguments if not str(each).startswith("--")]
        return module.load_model(folders).identity


@pytest.mark.long
def test_a_chosen_alignment_is_part_of_what_the_output_depends_on(run, tmp_path):
    copy = shutil.copytree(run.folder, tmp_path / "run")
    plain = identity(copy)
    assert "alignment" not in identity(copy, "--alignments")
    Run(copy).choose_alignment(["The dog sleeps."], ["Der Hund schläft."])
    chosen = identity(copy, "--alignments")
    assert chosen["alignment"]["layer"] == 0
    assert identity(copy, "--markup=xml")["alignment"] == chosen["alignment"]
    assert identity(copy) == plain, "without aligned words, the choice has no effect"


@pytest.mark.long
def test_the_identity_of_a_model_changes_with_weights_search_and_glossary(run, tmp_path):
    folder = run.folder
    other = Run(shutil.copytree(folder, tmp_path / "other"))
    model = other.model()
    model.embedding.bias.assign(model.embedding.bias + 1)
    other.averaged.write(model_state(model), None, None)
    identities = [
        json.dumps(identity(*arguments))
        for arguments in [
            *((folder,), (folder,), (folder, "--beam=1"), (folder, "--split=off")),
            *((folder, "--prefix=das"), (folder, folder), (other.folder,)),
        ]
    ]
    assert identities[0] == identities[1] and len(set(identities)) == 6
    with_glossary = []
    for phrases in ("dog\tHund\n", "dog\tguter Hund\n"):
        (tmp_path / "terms").write_text(phrases)
        with_glossary.append(identity(folder, f"--glossary={tmp_path / 'terms'}")["glossary"])
    assert with_glossary[0] != with_glossary[1]


def test_a_search_method_of_an_imported_file_is_used_and_part_of_it(run, tmp_path):
    found, known = [], {*METHODS}
    for name in ("imported", "edited"):
        file = tmp_path / f"{name}.py"
        file.write_text(
            "from t2t_keras.decoding.beam_search import BeamSearch\n"
            "from t2t_keras.decoding.search import METHODS\n"
            f"METHODS['{name}'] = type('Imported', (BeamSearch,), {{}})\n"
        )
        found.append(identity(run.folder, f"--imports={file}", f"--method={name}"))
        assert found[-1]["search"]["method"] == name
    assert found[0]["imports"] != found[1]["imports"]
    for name in {*METHODS} - known:
        del METHODS[name]


def test_the_fields_of_a_request_are_flags_and_reach_every_line(run):
    with parsed_flags("translate", "--split=off", "--confidence", "--json") as module:
        names = {"split", "prefix", "markup", "alignments", "confidence", *MBR}
        assert module.OF_ALL_LINES.keys() == names, "the others are files, or have their own flag"
        options = module.load_model([run.folder]).options
    assert options["split"] == "off" and options["confidence"] and not options["alignments"]
    assert "markup" not in options
