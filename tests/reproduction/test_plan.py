"""The plan of a table: its flags, and the settings that are refused before anything runs."""

from pathlib import Path

import pytest
from support.processes.in_process import parsed_flags

from t2t_keras.cli.help_text import command_flags
from t2t_keras.reproduction import Plan, reproduce
from t2t_keras.reproduction.plan import TABLES, settings


def test_every_setting_is_a_flag_with_the_same_default_and_names_its_tables():
    with parsed_flags("reproduce"):
        flags = {flag.name: flag for flag in command_flags()}
    fields = {f.name: f for f in settings() if f.name not in ("command", "overrides")}
    assert flags.keys() - {"config", "imports"} == fields.keys()
    for name, field in fields.items():
        tables, default = field.metadata["tables"], field.default
        prefix = "All tables" if tables == list(TABLES) else ", ".join(tables)
        assert f"{prefix}: " in flags[name].help, name
        expected = [str(x) for x in default] if isinstance(default, tuple) else default
        assert flags[name].default == expected, name


def test_a_plan_without_output_has_a_folder_of_its_own():
    assert Plan("table3").folder == Path("reproduced/table3")
    assert Plan("table3", output=Path("elsewhere")).folder == Path("elsewhere")


TEXT = {"source": "a", "target": "b"}


@pytest.mark.parametrize(
    ("table", "changes", "message"),
    [
        ("table7", {}, "must be one of 'table1', 'table2'"),
        ("table2", {"leaves": "tag"}, "--leaves is for table4 only. Received: --leaves for table2"),
        ("table1", {"overrides": {"model.d_model": 8}}, "--config is for table2 and table3 and"),
        ("table4", {"ratio": 2}, "--ratio needs --automatic"),
        (
            "table2",
            {"tfds": "x", "data": "y"},
            "Only one of --source, --data, --tfds is .*: --data, --tfds",
        ),
        ("table2", {"run": "x", "steps": 3}, "--steps is for training, and --run trains nothing"),
        ("table4", {"run": "x", "overrides": {"model.d_model": 8}}, "only search settings"),
    ],
)
def test_a_wrong_plan_is_refused(table, changes, message):
    with pytest.raises(ValueError, match=message):
        Plan(table, **changes)


@pytest.mark.parametrize(
    ("table", "changes", "message"),
    [
        ("table2", {"rows": ["ende_bigg"]}, "did you mean 'ende_big'"),
        ("table2", {"rows": ["ende_base"], **TEXT}, "--test_source and --test_target, the text"),
        ("table2", {"overrides": {"training.patience": 3}}, "could not be compared"),
        (
            "table2",
            {"rows": ["ende_base", "ende_gnmt"]},
            "ende_base and ende_gnmt share one text.* --config.data.vocabulary.size=37000",
        ),
        ("table3", {"divide_layers": 3}, "a divisor of num_layers=2"),
        ("table4", {"dev": "x"}, "--train is needed"),
        ("table4", {"train": "x", "dev": "y", "first": "base"}, "different model.d_model"),
    ],
)
def test_a_plan_unfit_for_its_table_is_refused_before_stages_run(tmp_path, table, changes, message):
    with pytest.raises(ValueError, match=message):
        reproduce(Plan(table, output=tmp_path, **changes))
    assert not list(tmp_path.glob("**/*.log"))
