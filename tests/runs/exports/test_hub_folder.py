"""A folder for the Hub is a run: it translates as before, and comes back through a Hub."""

import getpass
import json

import pytest
from huggingface_hub.repocard import metadata_load
from support.importing.loopback_hub import loopback_hub
from support.processes.accidents import contents

from pipelines.atomic_files import read_json
from t2t_keras.export.litert.convert import NotConvertible
from t2t_keras.importing.hub import parse_address
from t2t_keras.parameters import parameter_counts
from t2t_keras.runs import Run
from t2t_keras.runs.exports import writers
from t2t_keras.runs.exports.fitting import fitting
from t2t_keras.runs.exports.hub_folder import chosen_license, published_settings
from t2t_keras.runs.exports.model_card import cell, hub_name
from t2t_keras.runs.importing.import_run import checked, import_run
from t2t_keras.translating.languages import Languages


@pytest.mark.long
def test_a_run_comes_back_from_the_hub_with_the_same_translations(toy_run, tmp_path, monkeypatch):
    run = Run(toy_run[1])
    folder = run.export(tmp_path / "toy-en-de", "hub", license="mit", beam=2)
    names = {path.name for path in folder.iterdir()}
    expected = {"README.md", ".gitattributes", "config.json", "vocabulary"}
    assert names == expected | {"averaged.npz", "metrics.jsonl", "export_litert"}
    for text in (getpass.getuser() + "/", str(tmp_path), str(toy_run[1].parent)):
        assert not [name for name, data in contents(folder).items() if text.encode() in data], text

    with loopback_hub() as hub:
        hub.add("me/toy-en-de", folder)
        hub.use(tmp_path / "home", monkeypatch)
        lines = []
        result = import_run("hf:me/toy-en-de", tmp_path / "back", show=lines.append)
    back = result.run
    assert lines[0].endswith("license mit") and lines[1] == "languages: English to German"
    assert back.engine().digest() == run.engine().digest() and back.search().beam == 2
    assert fitting(back, "litert", "int8").name == "1", "the model for LiteRT belongs to the run"
    assert read_json(back.config_file)["origin"]["hub"] == "me/toy-en-de"
    assert result.weights == sum(parameter_counts(run.experiment().model).values())
    facts = metadata_load(folder / "README.md")
    assert (facts["language"], facts["license"]) == (["en", "de"], "mit")
    (entry,) = facts["model-index"][0]["results"]
    record = run.averaged.record()["bleu"][""]
    assert entry["metrics"][0]["value"] == round(record["score"], 2)
    assert record["signature"] in entry["metrics"][0]["name"]
    card = (folder / "README.md").read_text()
    assert (
        "300 pairs of the built-in toy grammar" in card and "| LiteRT | weights in int8 |" in card
    )
    with pytest.raises(ValueError, match=r"exists already. Delete it, or give a new folder"):
        run.export(folder, "hub")

    weights = folder / "averaged.npz"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"averaged.npz is damaged"):
        checked(folder)


def test_the_license_of_the_model_that_a_run_is_made_from_stays(run):
    for facts in ({"origin": {"license": "cc-by-4.0"}}, {"base": {"license": "cc-by-4.0"}}):
        assert chosen_license(run, facts) == chosen_license(run, facts, "cc-by-4.0") == "cc-by-4.0"
        with pytest.raises(ValueError, match=r"license cc-by-4.0, which stays. Received"):
            chosen_license(run, facts, "mit")
    assert (chosen_license(run, {}), chosen_license(run, {}, "mit")) == (None, "mit")
    with pytest.raises(ValueError, match=r"--license must be an identifier .* 'Apache 2.0'"):
        chosen_license(run, {}, "Apache 2.0")


@pytest.fixture
def without_litert(monkeypatch):
    """Makes the export for LiteRT fail, as for a model with an operation that LiteRT lacks."""

    def save(*_):
        raise NotConvertible("no operation")

    monkeypatch.setattr(writers, "save_litert", save)


def test_a_model_that_litert_does_not_support_is_published_without(run, tmp_path, without_litert):
    folder = tmp_path / 'my "No"|run: x\n'
    run.export(folder, "hub", languages=Languages("no", "zh-Hans"))
    assert not {"export_litert", ".lock"} & {path.name for path in folder.iterdir()}
    card = (folder / "README.md").read_text()
    assert r'# my "No"|run: x\n: Norwegian to' in card and "It has no model for LiteRT" in card
    assert "t2t-import hf:ORG/my-No-run-x --run=my-No-run-x" in card and "--dtype" not in card
    assert "| Transformer of" in card and "model.d_model 16" in card
    facts = metadata_load(folder / "README.md")
    assert facts["language"] == ["no", "zh-Hans"] and "litert" not in facts["tags"]


@pytest.mark.parametrize(
    ("weights", "beam", "is_the_same"),
    [("averaged", 4, True), ("averaged", 1, False), ("6", 4, False)],
)
def test_the_card_tells_of_its_own_weights_and_search(
    copied, tmp_path, without_litert, weights, beam, is_the_same
):
    """BLEU is that of the default weights with the run's search."""
    figures = {"tokens": 1, "seconds": 2, "flops": 3}
    lines = [json.dumps({"step": step, "bleu": None, **figures}) + "\n" for step in (2, 4, 6)]
    (copied.folder / "metrics.jsonl").write_text("".join(lines))
    bleu = {"bleu": {"": {"score": 39.1, "signature": "case:mixed|tok:13a"}}}
    copied.averaged.add(copied.averaged.digest(), steps=[2, 4], **bleu)
    copied.export(tmp_path / "published", "hub", weights, beam=beam)
    card = (tmp_path / "published" / "README.md").read_text()
    assert (r"| BLEU, held-out set | 39.10 (`case:mixed\|tok:13a`) |" in card) == is_the_same
    assert ("No BLEU of these weights with this search is known" in card) != is_the_same
    assert f"up to step {4 if weights == 'averaged' else 6} |" in card


def test_names_are_made_valid_on_the_hub():
    names = {"my run": "my-run", "a..b": "a-b", "-é-": "model", "No": "No", "x" * 99: "x" * 96}
    assert {name: hub_name(name) for name in names} == names
    assert all(parse_address(f"hf:ORG/{name}") for name in names.values())
    assert cell("val|x\n.de") == r"val\|x\n.de"


def test_a_type_that_litert_lacks_is_refused(run, tmp_path):
    with pytest.raises(ValueError, match="`dtype` must be one of 'int8', 'float32'"):
        run.export(tmp_path / "x", "hub", dtype="bfloat16")
    assert not (tmp_path / "x").exists()


def test_settings_keep_everything_but_paths():
    data = {"folder": "secret/a:2,../mary secret/b c:1", "dev_source": "/secret/a/dev.en"}
    data |= {"dev_target": r"C:\secret\dev.de", "dev": ["m=secret/m.en,secret/m.de"]}
    corpus = {"folder": "../mary secret/b c", "pairs": 3, "words": None}
    found = published_settings(
        {
            "experiment": {"data": data | {"cleaning": {"rules": ["short=3", "in=/secret/x"]}}},
            "command": ["/secret/t2t-train", "--data=secret/a"],
            "init": "secret/first/",
            "preparation": {"leaves": ["W", None], "data set": "wmt /secret/tfds"},
            "corpora": [corpus | {"files": ["work/secret smith/a b.en", "C:/secret/x y.de"]}],
            "tags": ["de", None],
        }
    )
    data = {"folder": "a:2,b c:1", "dev_source": "dev.en", "dev_target": "dev.de"}
    data |= {"dev": ["m=m.en,m.de"], "cleaning": {"rules": ["short=3", "in=x"]}}
    assert found == {
        "experiment": {"data": data},
        "command": [],
        "init": "first",
        "preparation": {"leaves": ["W", None]},
        "corpora": [corpus | {"folder": "b c", "files": ["a b.en", "x y.de"]}],
        "tags": ["de", None],
        "imported": "t2t_keras",
    }
