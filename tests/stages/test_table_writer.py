"""Tables as Markdown and CSV."""

import datetime

from t2t_keras.reproduction import Plan
from t2t_keras.stages.table_writer import circumstances, number, signed, write_table


def test_a_table_is_written_as_markdown_and_csv(tmp_path):
    rows = [{"row": "base", "F1, all": number(1.234)}, {"row": "big"}]
    text = write_table(tmp_path / "table", rows, ["A note."])
    assert text == (
        "| row  | F1, all |\n"
        "| ---- | ------- |\n"
        "| base | 1.23    |\n"
        "| big  |         |\n"
        "\n"
        "- A note.\n"
    )
    assert (tmp_path / "table.md").read_text(encoding="utf-8") == text
    assert (tmp_path / "table.csv").read_text() == 'row,"F1, all"\nbase,1.23\nbig,\n'
    assert len(list(tmp_path.iterdir())) == 2


def test_the_command_is_a_note_unless_the_call_came_from_python():
    today = str(datetime.date.today())
    assert circumstances(Plan("table2"), "a machine") == [f"{today}, a machine"]
    plan = Plan("table2", command="t2t-reproduce table2")
    assert circumstances(plan, "a machine")[1:] == ["`t2t-reproduce table2`"]


def test_a_missing_number_is_an_empty_cell():
    assert number(None) == ""
    assert (signed(2, 3), signed(None, 3), signed(2, None)) == ("-1.00", "", "")
