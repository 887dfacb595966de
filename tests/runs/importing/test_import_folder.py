"""The folder of an import: new, of a killed import, or complete."""

import pytest

from pipelines.atomic_files import write_json
from t2t_keras.runs.importing.import_folder import check_new, lacks_export
from t2t_keras.runs.run_folder import RunFolder


def test_the_command_of_a_killed_export_is_recognized(tmp_path):
    run = RunFolder(tmp_path / "my run")
    run.folder.mkdir()
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
