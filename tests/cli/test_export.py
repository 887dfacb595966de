"""t2t-export names what is wrong and leaves nothing behind; tests/export tests the formats."""

import keras
import numpy as np
import pytest
from support.processes.in_process import call, refused


@pytest.mark.long
def test_a_keras_file_gives_the_logits_of_the_run(run, tmp_path):
    path = tmp_path / "model.keras"
    assert call("export", run.folder, "--format=keras", f"--output={path}").stdout == f"{path}\n"
    model = keras.saving.load_model(path)
    inputs = {"source": np.array([[5, 6, 2]]), "target": np.array([[1, 7]])}
    np.testing.assert_array_equal(model(inputs), run.model()(inputs))


# {format: flags without an effect on it, one of each kind}
UNUSED = {
    "saved_model": ["--license=mit", "--sample"],
    "ctranslate2": ["--license=mit", "--sample", "--banned=mein"],
    "keras": ["--dtype=float32", "--languages=en,de", "--n_best=2"],
    "hub": ["--to=de", "--sample"],
    "argos": ["--license=mit", "--n_best=2", "--beam=4"],
}
MISTAKES = {
    "": "takes one run's folder. Received: none",
    "nowhere": "nowhere is not a run",
    "{0} --dtype=float16": "`dtype` must be one of 'float32', 'bfloat16', 'int8'",
    "{0} --format=keras --output={0}/model.h5": "ends in .keras",
    "{0} --format=argos --output={0}/model.zip": "ends in .argosmodel",
    "{0} --renew --beam=2": "--beam has no effect with --renew, which repeats",
    "{0} --output={0}/config.json": "Not a directory",
    "{0} --format=keras --output={0}/config.json/x.keras": "Not a directory",
} | {
    f"{{0}} --format={form} {flag}": f"no effect with --format={form}: leave it out"
    for form, unused in UNUSED.items()
    for flag in unused
}


@pytest.mark.parametrize(("line", "message"), MISTAKES.items())
def test_a_mistake_is_named(run, line, message):
    assert message in refused("export", line, run.folder)
    assert not list(run.folder.glob("export/[0-9]*"))
