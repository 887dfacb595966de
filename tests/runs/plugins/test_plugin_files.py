import hashlib
import os
import shutil

import pytest
from support.runs.untrained import learned_tokenizer, toy_tokenizer, untrained_run

from pipelines.atomic_files import read_json, write_json
from t2t_keras.decoding.search import METHODS
from t2t_keras.experiment import Experiment
from t2t_keras.export.litert.convert import NotConvertible
from t2t_keras.layers.positional_encoding import POSITIONAL_ENCODINGS
from t2t_keras.plugins import LOADED, TRUSTED, load_plugin, trusted
from t2t_keras.runs import Run, load_translator
from t2t_keras.runs.exports import writers
from t2t_keras.runs.plugins.plugin_files import (
    files_of_run,
    load_method,
    load_plugins_of,
    missing_entry,
    trust_plugins_of,
)
from t2t_keras.runs.plugins.trained_plugins import adopt_plugins, copy_plugins, use_copies
from t2t_keras.runs.training.run_start import begin
from t2t_keras.training.hardware.machines import Machines, find_strategy

PLUGIN = """
from t2t_keras.layers.positional_encoding import POSITIONAL_ENCODINGS

POSITIONAL_ENCODINGS["absent"] = POSITIONAL_ENCODINGS["none"]._replace()
"""


def forget():
    """Makes this process one that has neither executed nor trusted a plug-in file."""
    LOADED.clear()
    os.environ.pop(TRUSTED, None)
    POSITIONAL_ENCODINGS.pop("absent", None)
    METHODS.pop("own", None)


@pytest.fixture(autouse=True)
def another_process(made):
    forget()
    yield
    forget()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of a run whose positional encoding is that of a plug-in file."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "mine.py").write_text(PLUGIN)
    tokenizer = toy_tokenizer(folder / "vocabulary")
    load_plugin(folder / "mine.py")
    untrained_run(
        folder / "run", folder / "vocabulary", tokenizer, extra_length=3, positions="absent"
    )
    return folder / "run"


@pytest.fixture
def run(made, tmp_path):
    """A copy of that run, whose file this process has executed."""
    shutil.copytree(made, tmp_path / "run")
    (tmp_path / "vocabulary").symlink_to(made.parent / "vocabulary")
    run = Run(tmp_path / "run", trust=True)
    run.experiment()
    return run


def copied(run, folder):
    """Returns the path of a copy of a run, which another process uses."""
    shutil.copytree(run.folder, folder)
    forget()
    return folder


def test_a_run_keeps_a_copy_of_the_files_whose_entries_it_uses(run, tmp_path):
    (file,) = files_of_run(run.folder)
    assert file.path == run.folder / "imports" / "mine.py"
    assert file.contents == PLUGIN.encode()
    contents = read_json(run.config_file)
    assert contents["imports"] == {"mine.py": file.sha256}
    assert contents["experiment"]["imports"] == ["mine.py"], "without its folder"
    assert run.experiment().imports == (str(file.path),)


def test_a_run_is_used_only_if_this_process_trusts_its_files(run, tmp_path, capfd):
    folder = copied(run, tmp_path / "theirs")
    reasons = r"imports/mine.py \(SHA-256 [0-9a-f]{64}\), which was not executed.*--trust"
    for use in (Run(folder).experiment, lambda: load_translator(folder, engine="tensorflow")):
        with pytest.raises(ValueError, match=reasons):
            use()
    assert "absent" not in POSITIONAL_ENCODINGS
    assert load_translator(folder, engine="tensorflow", trust=True).engine.model
    (file,) = files_of_run(folder)
    assert f"{file.path} is executed (SHA-256 {file.sha256})" in capfd.readouterr().err
    assert trusted() == [file.sha256], "also in processes that this one starts"
    assert Run(folder).experiment().model.positions == "absent"


def test_a_run_is_resumed_with_its_copies_by_a_config_that_names_none(run, tmp_path):
    folder = copied(run, tmp_path / "theirs")
    with pytest.raises(ValueError, match=r"which was not executed.*--trust"):
        adopt_plugins(Run(folder), Experiment())
    trust_plugins_of(folder)
    experiment = Experiment()
    for _ in range(2):
        assert adopt_plugins(Run(folder), experiment) == files_of_run(folder)
        assert experiment.imports == (str(folder / "imports" / "mine.py"),)


def test_only_executed_contents_are_copied(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(PLUGIN)
    experiment, run = Experiment(imports=(path,)), Run(tmp_path / "new")
    path.write_text("1 / 0")  # edited while this process trains
    files = adopt_plugins(run, experiment)
    run.folder.mkdir()
    copy_plugins(run, experiment, files)
    assert (run.folder / "imports" / "mine.py").read_text() == PLUGIN


def test_a_search_method_is_that_of_the_run(tmp_path):
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        text = f"from t2t_keras.decoding.search import METHODS\nMETHODS['own'] = '{folder.name}'"
        (folder / "imports").mkdir(parents=True)
        (folder / "imports" / "short.py").write_text(text)
        imports = {"short.py": hashlib.sha256(text.encode()).hexdigest()}
        write_json(folder / "config.json", {"experiment": {}, "imports": imports})
        with pytest.raises(ValueError, match="you have not trusted it"):
            load_method(folder, "own")
        trust_plugins_of(folder)
    first, second = folders
    for _ in range(2):
        load_method(first, "own")
        assert METHODS["own"] == "first"
        with pytest.raises(ValueError, match="are different versions of a file"):
            load_method(second, "own")
        load_method(second, "beam")


def test_an_entry_in_a_list_of_settings_is_missed():
    contents = {"experiment": {"data": {"cleaning": {"rules": ["loud=0.5"]}}}}
    assert "needs the entry 'loud' of RULES (data.cleaning.rules)" in missing_entry(contents, "run")


def test_a_name_without_an_entry_is_named_with_what_to_do(run, tmp_path):
    shutil.rmtree(run.folder / "imports")
    contents = read_json(run.config_file)
    del contents["imports"]
    write_json(run.config_file, contents)
    forget()
    message = r"needs the entry 'absent' of POSITIONAL_ENCODINGS \(model.positions\).*--imports="
    with pytest.raises(ValueError, match=message):
        run.experiment()


def test_a_crafted_record_is_refused(run):
    wrong = 'its entry "imports" must be'
    for imports, message in [
        ({"../mine.py": "0" * 64}, wrong),
        (["mine.py"], wrong),
        ({"mine.py": "0" * 64}, "mine.py with SHA-256 0{64}.* or has changed since training"),
        ({"other.py": "0" * 64}, "needs its plug-in file .*other.py .* missing"),
    ]:
        write_json(run.config_file, read_json(run.config_file) | {"imports": imports})
        for use in (run.experiment, lambda: trust_plugins_of(run.folder)):
            with pytest.raises(ValueError, match=message):
                use()


def test_files_with_one_name_and_different_contents_are_refused(run, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(f"# {folder}")
    imports = tmp_path / "a" / "mine.py", tmp_path / "b" / "mine.py"
    message = r"a/mine.py \(SHA.*b/mine.py \(SHA.* have the same name.*Rename one"
    with pytest.raises(ValueError, match=message):
        adopt_plugins(Run(tmp_path / "new"), Experiment(imports=imports))
    message = r"run/imports/mine.py \(SHA.*a/mine.py \(SHA.* different --run"
    with pytest.raises(ValueError, match=message):  # a file that changed since training started
        begin(run, Experiment(imports=imports[:1]), run.vocabulary())
    assert run.experiment().imports == (str(files_of_run(run.folder)[0].path),)


CARRYING = """
from pathlib import Path

FILES = ("data.txt",)

def data():
    return Path(__file__).with_name("data.txt").read_text()

def begin_run(folder, experiment, tokenizer, store):
    with open(folder / "calls.txt", "a") as file:
        file.write(f"{tokenizer} {store} {data()}\\n")
"""


def test_a_run_carries_files_and_its_beginning_is_told_once(tmp_path):
    (tmp_path / "mine.py").write_text(CARRYING)
    (tmp_path / "data.txt").write_text("first")
    run, experiment = Run(tmp_path / "run"), Experiment(imports=(tmp_path / "mine.py",))
    alone = Machines(find_strategy())
    run.folder.mkdir()
    use_copies(run, experiment, alone, "pieces", "pairs")
    (tmp_path / "data.txt").unlink()
    begin(run, experiment, learned_tokenizer())
    use_copies(run, Experiment(), alone, "pieces", "pairs")
    assert (run.folder / "imports" / "calls.txt").read_text() == "pieces pairs first\n"
    (file,) = load_plugins_of(run.folder)
    code, data = (hashlib.sha256(text.encode()).hexdigest() for text in (CARRYING, "first"))
    lines = f"{code}  mine.py\n{data}  data.txt\n"
    assert file.sha256 == hashlib.sha256(lines.encode()).hexdigest()

    other = copied(run, tmp_path / "moved")
    trust_plugins_of(other)
    for each in (other, run.folder, other):
        load_plugins_of(each)
        assert len(LOADED) == 1, "executed once"
        module = load_plugin(each / "imports" / "mine.py")
        assert module.__file__ == str(each / "imports" / "mine.py"), "of the run used last"
        assert module.data() == "first"

    (other / "imports" / "data.txt").write_text("second")
    with pytest.raises(ValueError, match=r"It or its data.txt is missing or has changed since"):
        Run(other).experiment()
    (other / "imports" / "data.txt").unlink()
    with pytest.raises(ValueError, match=r"there is no file 'data.txt' beside .*mine.py"):
        Run(other).experiment()


@pytest.mark.parametrize("files", ["('a', 'b' + 'c')", "'data.txt'", "('../a',)", "(1,)"])
def test_files_that_are_not_written_out_are_refused(files, tmp_path):
    (tmp_path / "mine.py").write_text(f"FILES = {files}\n")
    (tmp_path / "a").touch()
    with pytest.raises(ValueError, match=r"mine.py.* FILES"):
        load_plugin(tmp_path / "mine.py")


def test_an_entry_that_is_in_no_file_is_a_warning(tmp_path, monkeypatch, caplog):
    monkeypatch.setitem(POSITIONAL_ENCODINGS, "absent", POSITIONAL_ENCODINGS["none"])
    tokenizer = toy_tokenizer(tmp_path / "vocabulary")
    with caplog.at_level("WARNING"):
        untrained_run(tmp_path / "run", tmp_path / "vocabulary", tokenizer, positions="absent")
    assert "model.positions='absent' is an entry that this process has added" in caplog.text
    assert not (tmp_path / "run" / "imports").exists()


def test_a_published_run_contains_the_files_and_its_card_says_so(run, tmp_path, monkeypatch):
    def save(*_):
        raise NotConvertible("no operation")

    monkeypatch.setattr(writers, "save_litert", save)
    folder = run.export(tmp_path / "published", "hub")
    assert (folder / "imports" / "mine.py").read_text() == PLUGIN
    assert "It contains Python code, `imports/mine.py`." in (folder / "README.md").read_text()
