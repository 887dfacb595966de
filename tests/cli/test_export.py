"""t2t-export names what is wrong and leaves nothing behind; tests/export tests the formats."""

import json
import zipfile

import keras
import numpy as np
import pytest
from support.processes.commands import command
from support.processes.in_process import ended
from support.runs.untrained import toy_tokenizer, untrained_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("export")
    tokenizer = toy_tokenizer(folder / "vocabulary")
    return untrained_run(folder / "toy", folder / "vocabulary", tokenizer)


@pytest.mark.long
def test_a_keras_file_gives_the_logits_of_the_run(run):
    exported = command("export", run.folder, "--format=keras")
    assert exported.stdout == f"{run.folder / 'model.keras'}\n", exported.stderr
    model = keras.saving.load_model(run.folder / "model.keras")
    with zipfile.ZipFile(run.folder / "model.keras") as file:
        weights = json.loads(file.read("export.json"))["weights"]
    assert weights == {"steps": None, "digest": run.weights_digests()[0]}
    inputs = {"source": np.array([[5, 6, 2]]), "target": np.array([[1, 7]])}
    np.testing.assert_array_equal(model(inputs), run.model()(inputs))


SAMPLING = ["--sample", "--temperature=0.5", "--top_k=5", "--top_p=0.5", "--seed=1"]
SEARCH = ["--beam=4", "--alpha=1", "--extra_length=9", *SAMPLING, "--no_repeat_ngram=3"]
SEARCH += ["--banned=a", "--first=a", "--ids_only", "--n_best=2"]
UNUSED = {
    "saved_model": ["--force", *SAMPLING],
    "ctranslate2": [*SAMPLING, "--ids_only", "--banned=mein", "--constrain=tree"],
    "keras": [*SEARCH, "--force", "--dtype=float32", "--languages=en,de"],
    "argos": [*SEARCH, "--force", "--portable"],
}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes one run's folder. Received: none"),
        (["nowhere"], "nowhere is not a run"),
        (["{0}", "--dtype=int4"], "value should be one of <float32|bfloat16|int8"),
        (["{0}", "--dtype=float16"], "`dtype` must be one of 'float32', 'bfloat16', 'int8'"),
        (["{0}", "--format=keras", "--output={0}/model.h5"], "ends in .keras"),
        (["{0}", "--format=argos", "--languages=en,d"], "--languages: a language must be given"),
        (["{0}", "--format=argos", "--output={0}/model.zip"], "ends in .argosmodel"),
        (["{0}", "--renew", "--beam=2"], "--beam has no effect with --renew, which repeats"),
        (["{0}", "--output={0}/config.json"], "Not a directory"),
        (["{0}", "--format=keras", "--output={0}/config.json/x.keras"], "Not a directory"),
        *(
            (["{0}", f"--format={form}", flag], f"no effect with --format={form}: leave it out")
            for form, unused in UNUSED.items()
            for flag in unused
        ),
    ],
)
def test_mistakes_end_with_one_message_and_exit_code_2(run, arguments, message):
    result = ended("export", *(argument.format(run.folder) for argument in arguments))
    assert result.returncode == 2 and "Traceback" not in result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert not list(run.folder.glob("export/[0-9]*"))
