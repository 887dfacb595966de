"""A folder for the Hub is a run: it translates as before, and comes back through a Hub."""

import getpass
import os
from types import SimpleNamespace

import pytest
from huggingface_hub.repocard import metadata_load
from support.importing.loopback_hub import loopback_hub
from support.processes.accidents import contents

from pipelines.atomic_files import only_one, read_json, write_json
from t2t_keras.export.litert.convert import NotConvertible
from t2t_keras.importing.hub.needed_files import parse_address
from t2t_keras.parameters import parameter_counts
from t2t_keras.runs import Run
from t2t_keras.runs.config_file import corpora_facts
from t2t_keras.runs.exports import litert, published_run
from t2t_keras.runs.exports.card_metadata import yaml_lines
from t2t_keras.runs.exports.fitting import fitting
from t2t_keras.runs.exports.hub_folder import chosen_license
from t2t_keras.runs.exports.model_card import (
    cell,
    corpora_lines,
    evaluations_of,
    hub_name,
    limit_lines,
    reports_of,
)
from t2t_keras.runs.exports.published_run import published_settings
from t2t_keras.runs.importing.import_run import checked, import_run
from t2t_keras.runs.importing.inherited_license import inherited_from
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.translating.languages import Languages


@pytest.mark.long
def test_a_run_comes_back_through_the_hub_with_the_same_translations(
    toy_run, tmp_path, monkeypatch
):
    run = Run(toy_run[1])
    folder = run.export(tmp_path / "toy-en-de", "hub", license="mit", beam=2)
    names = {path.name for path in folder.iterdir()}
    expected = {"README.md", ".gitattributes", "config.json", "vocabulary", "averaged.json"}
    assert names == expected | {"averaged.weights.h5", "metrics.jsonl", "export_litert"}
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
    record = run.averaged.record()["bleu"]
    assert entry["metrics"][0]["value"] == round(record["score"], 2)
    assert record["signature"] in entry["metrics"][0]["name"]
    card = (folder / "README.md").read_text()
    assert "300 pairs of the toy grammar" in card and "LiteRT int8, beam 2" in card
    with pytest.raises(ValueError, match=r"exists already. Delete it, or give a new folder"):
        run.export(folder, "hub")

    weights = folder / "averaged.weights.h5"
    weights.write_bytes(weights.read_bytes()[:-1] + b"x")
    with pytest.raises(ValueError, match=r"averaged.weights.h5 is not the file that averaged"):
        checked(folder)


def written(folder, **entries):
    folder.mkdir()
    write_json(folder / "config.json", {"experiment": {}, **entries})
    return RunFolder(folder)


def test_the_license_of_the_model_that_a_run_is_made_from_stays(tmp_path):
    origin = {"hub": "a/b", "license": "cc-by-4.0"}
    imported = written(tmp_path / "imported", origin=origin)
    adapted = written(tmp_path / "adapted", init=str(tmp_path / "imported"))
    for run in (imported, adapted):
        assert chosen_license(run) == chosen_license(run, "cc-by-4.0") == "cc-by-4.0"
        with pytest.raises(ValueError, match=r"license cc-by-4.0, which stays. Received"):
            chosen_license(run, "mit")
    assert inherited_from(adapted) == ("cc-by-4.0", "a/b")
    own = written(tmp_path / "own", init=str(tmp_path / "gone"))
    assert (chosen_license(own), chosen_license(own, "mit")) == (None, "mit")
    with pytest.raises(ValueError, match=r"--license must be an identifier .* 'Apache 2.0'"):
        chosen_license(own, "Apache 2.0")
    circle = written(tmp_path / "circle", init=str(tmp_path / "circle"))
    assert chosen_license(circle) is None


def test_the_license_does_not_depend_on_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "first", origin={"hub": "a/b", "license": "cc-by-4.0"})
    begun = written(tmp_path / "begun", init="first", base={"license": "mit", "hub": None})
    published = written(tmp_path / "published", init="first", imported="t2t_keras")
    earlier = written(tmp_path / "earlier", init="first")
    assert inherited_from(begun) == ("mit", None)
    assert inherited_from(published) == inherited_from(earlier) == (None, None)
    assert chosen_license(published, "mit") == chosen_license(earlier, "mit") == "mit"
    with pytest.raises(ValueError, match=r"began from the run first, .* --license"):
        chosen_license(earlier)


def test_metadata_are_read_as_they_were_written(tmp_path):
    facts = {
        "language": ["no", "zh-Hans", "1e3"],
        "name": 'a "b": c # d \\ é',
        "model-index": [
            {"name": "x", "results": [{"task": {"type": "t"}, "metrics": [{"v": 1.5}]}]}
        ],
        "words": ["No", "NULL", "~", "-5", "0x1f", "1_0", "2026-11-26", "=", "<<", ""],
        "unprintable": "x\x7f\x85\x9f\xa0\u2028\ufeff\uffff\U0001f600",
    }
    text = "\n".join(yaml_lines(facts))
    (tmp_path / "README.md").write_text(f"---\n{text}\n---\n", encoding="utf-8")
    assert metadata_load(tmp_path / "README.md") == facts


@pytest.fixture
def without_litert(monkeypatch):
    """Makes the export for LiteRT fail, as for a model with an operation that LiteRT lacks."""

    def save(*_):
        raise NotConvertible("no operation")

    monkeypatch.setattr(litert, "save_litert", save)


def test_a_model_that_litert_does_not_support_is_published_without(run, tmp_path, without_litert):
    folder = tmp_path / os.fsdecode(b"my No|run\xff")
    killed, used = (tmp_path / f"{folder.name}.{c * 32}.unfinished" for c in "ab")
    other = tmp_path / f"{folder.name}.{'a' * 31}.unfinished"
    for leftover in (killed, used, other):
        leftover.mkdir()
    with only_one(used):
        run.export(folder, "hub", languages=Languages("en", "de"))
    assert used.exists() and other.exists() and not killed.exists()
    assert not {"export_litert", ".lock"} & {path.name for path in folder.iterdir()}
    card = (folder / "README.md").read_text()
    assert "# my No|run\ufffd: English to German" in card and "It has no model for LiteRT" in card
    assert "t2t-import hf:ORG/my-No-run --run=my-No-run" in card and "--dtype" not in card
    assert "A Transformer of" in card
    assert "litert" not in metadata_load(folder / "README.md")["tags"]


@pytest.mark.parametrize(("beam", "is_the_same"), [(4, True), (1, False)])
def test_the_card_has_no_bleu_of_another_search(
    run, tmp_path, monkeypatch, without_litert, beam, is_the_same
):
    bleu = {"bleu": {"score": 39.1, "signature": "tok:13a"}}
    monkeypatch.setattr(published_run, "scores_of", lambda *_: bleu)
    run.export(tmp_path / "published", "hub", languages=Languages("en", "de"), beam=beam)
    card = (tmp_path / "published" / "README.md").read_text()
    assert ("39.10" in card) == is_the_same
    assert ("No BLEU of these weights with this search is known" in card) != is_the_same


def test_a_fine_tuned_model_has_seen_more_than_its_data(run):
    side = {"longest": 7, "in_bytes": 0, "unknown": 0.5}
    data = [("domain", {"counts": {"kept": 50}, "sides": {"source": side, "target": side}})]
    contents = {"imported": "t2t_keras"}
    own, adapted = (
        "\n".join(limit_lines(run, facts, None, [], data, "int8"))
        for facts in (contents, contents | {"init": "opus"})
    )
    assert "It has seen 50 pairs, all of them from `domain`" in own and "had 7 pieces" in own
    assert "50 pairs" not in adapted and "longest" not in adapted
    assert "Nothing is recorded here about the text of the run `opus`" in adapted
    assert "50.000% unknown" in own and "50.000% unknown" in adapted


def test_names_are_made_valid_on_the_hub():
    names = {"my run": "my-run", "a..b": "a-b", "-é-": "model", "No": "No", "x" * 99: "x" * 96}
    assert {name: hub_name(name) for name in names} == names
    assert all(parse_address(f"hf:ORG/{name}") for name in names.values())
    assert cell("val|x\n.de") == r"val\|x .de"


def test_the_card_has_no_report_of_data_that_was_prepared_anew(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    report = {"sides": {side: {"words": 7} for side in ("source", "target")}, "files": []}
    files = {"store": {"a": 3}, "report": report, "preparation": {"source text": "1"}}
    for name, entries in files.items():
        write_json(folder / f"{name}.json", entries)
    facts = {"corpora": corpora_facts(str(folder)), "preparation": files["preparation"]}
    run = written(tmp_path / "run", **facts)
    run.experiment = lambda: SimpleNamespace(data=SimpleNamespace(folder=str(folder)))
    assert reports_of(run) == [("data", report)]
    for name, changed in (("preparation", {"source text": "2"}), ("store", {"a": 4})):
        write_json(folder / f"{name}.json", changed)
        assert reports_of(run) == []
        write_json(folder / f"{name}.json", files[name])
    write_json(run.config_file, {"experiment": {}, "imported": "t2t_keras", **facts})
    assert reports_of(run) == []
    (line,) = corpora_lines(published_settings({"experiment": {}, **facts}))
    assert line == "- `data`: 3 pairs, with 7 words of source and 7 of target."


def test_the_card_tells_of_the_training_until_the_step_of_its_weights():
    lines = [{"step": 3}, {"step": 6}]
    run = SimpleNamespace(evaluations=lambda: lines, weights_steps=lambda: [2, 3])
    assert evaluations_of(run) == lines[:1]


def test_a_type_that_litert_lacks_is_refused(run, tmp_path):
    with pytest.raises(ValueError, match="`dtype` must be one of 'int8', 'float32'"):
        run.export(tmp_path / "x", "hub", dtype="bfloat16")
    assert not (tmp_path / "x").exists()
