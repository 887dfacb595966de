"""The folder of an import: new, of a killed import, or complete."""

import pytest

from pipelines.atomic_files import write_json
from t2t_keras.runs.importing.import_folder import check_new, clear, lacks_export
from t2t_keras.runs.run_folder import RunFolder


@pytest.fixture
def run(tmp_path):
    run = RunFolder(tmp_path / "my run")
    run.folder.mkdir()
    return run


def test_the_command_of_a_killed_export_is_recognized(run):
    arguments = ["model", "--run=my run"]
    write_json(run.config_file, {"experiment": {}, "command": ["/bin/t2t-import", *arguments]})
    assert lacks_export(run, ["t2t-import", *arguments])
    assert not lacks_export(run, ["t2t-import", "other", "--run=my run"])
    with pytest.raises(ValueError, match=r"complete run. Use it \(t2t-export '.*my run' --format"):
        check_new(run)
    (run.folder / "export_litert" / "1").mkdir(parents=True)
    (run.folder / "export_litert" / "1" / "litert.json").touch()
    assert not lacks_export(run, ["t2t-import", *arguments])
    run.config_file.unlink()
    assert not lacks_export(run, ["t2t-import", *arguments])


def write(run, *names):
    for name in names:
        (run.folder / name).parent.mkdir(exist_ok=True)
        (run.folder / name).touch()


LEFTOVERS = ("vocabulary.1.unfinished/bpe", "checkpoints/step-00000000.npz", "unpacked/model")


def test_what_a_killed_import_left_is_deleted(run):
    write(run, *LEFTOVERS, "config.json.unfinished", ".lock")
    check_new(run)
    clear(run)
    assert [path.name for path in run.folder.iterdir()] == [".lock"]


@pytest.mark.parametrize(
    "names",
    [
        LEFTOVERS,  # without the file that says that an import was killed
        ("config.json.unfinished", "checkpoints/step-00000008.npz"),
        ("config.json.unfinished", "config.json"),
        ("config.json.unfinished", "mine"),
    ],
)
def test_a_folder_with_other_files_is_refused(run, names):
    write(run, *names)
    with pytest.raises(ValueError, match="exists already, with"):
        check_new(run)
