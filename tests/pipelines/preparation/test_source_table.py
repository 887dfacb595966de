"""Sources and cleaning rules of plug-in files."""

import json

import pytest
from support.text.own_tables import section, with_entries
from support.text.small_corpus import CORPUS, config, contents

from pipelines.checks import SourceError
from pipelines.preparation.prepare import prepare
from pipelines.preparation.source_table import own_source
from pipelines.text.cleaning import Cleaning
from pipelines.text.cleaning_rules import CleaningConfig
from pipelines.text.sources import Pairs

PLUGIN = section("pipelines/how_to_add_a_rule_or_a_source.md", "How to add a rule or a source")
NOISY = [*CORPUS, *[(f"A DOG NUMBER {n}", f"EIN HUND NUMMER {n}") for n in range(9)]]


@pytest.fixture(autouse=True)
def entries():
    with with_entries(PLUGIN):
        yield


@pytest.fixture
def blocks(tmp_path):
    path = tmp_path / "noisy.txt"
    path.write_text("\n\n".join("\n".join(pair) for pair in NOISY if all(pair)) + "\n")
    return path


def settings(*rules):
    changed = config()
    changed.cleaning.rules = rules
    return changed


def test_the_example_drops_counts_records_resumes_notices_a_change(small_parts, tmp_path, blocks):
    source, folder = own_source(f"blocks:{blocks}"), tmp_path / "data"
    given = source, folder, settings("max_capitals=0.5")
    report = prepare(*given, plugins={"mine.py": "1"})
    assert report["counts"]["max_capitals"] == 9
    assert len(report["examples"]["max_capitals"]) == 9
    assert report["files"] == [f"blocks:{blocks}"]
    text = (folder / "report.txt").read_text()
    assert "9 mostly capitals" in text and "  mostly capitals (max_capitals, 9)\n    A DOG" in text
    recorded = json.loads((folder / "preparation.json").read_text())
    assert recorded["cleaning"]["rules"] == ["max_capitals=0.5"]
    assert recorded["source"] == "blocks" and recorded["plugins"] == {"mine.py": "1"}
    before = contents(folder)
    assert prepare(*given, plugins={"mine.py": "1"}) == report and contents(folder) == before
    for rules, plugin, change in [
        (("max_capitals=0.4",), "1", r"cleaning.rules \(was \['max_capitals=0.5'\], is"),
        (("max_capitals=0.5",), "2", r"plugins.mine.py \(was '1', is '2'\)"),
        ((), None, "cleaning.rules .*, plugins"),
    ]:
        plugins = {"mine.py": plugin} if plugin else None
        with pytest.raises(ValueError, match=f"different input or settings. Changed: {change}"):
            prepare(source, folder, settings(*rules), plugins=plugins)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "return 1 / (len(pair.source) - 5) > limit",
            r"pair 3 \('a dog' and 'ein Hund'\): .* 'own' failed: Zero.* \(mine.py, line 3\)$",
        ),
        ("print", r"the rule 'own' failed: TypeError: it must return True to drop the pair or Fa"),
        ("import sys; sys.exit()", r"failed: SystemExit \(mine.py, line 3\)$"),
    ],
)
def test_a_failing_rule_is_named_with_its_line_and_the_pair(tmp_path, body, message, small_parts):
    code = "from pipelines.text.cleaning_rules import *\ndef own(pair, limit):\n    "
    code += f"{body}\nRULES['own'] = Rule('own', own)"
    pairs = Pairs([("a bird", "b"), ("a lamp", "c"), ("a dog", "ein Hund")])
    with with_entries(code), pytest.raises(ValueError, match=message) as raised:
        prepare(pairs, tmp_path / "data", settings("own=2"))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (("max_capital=0.5",), "max_capitals, plain, kept \\(did you mean 'max_capitals'\\?\\). R"),
        (("max_ratio=2",), "'max_ratio' has a setting of its own, data.cleaning.max_ratio"),
        (("a=",), 'must name each rule once, as "NAME" or "NAME=VALUE". Received: \'a=\''),
        (("max_capitals=1", "max_capitals"), "once, .* Received: 'max_capitals' in rules="),
        ("max_capitals", "must be a tuple of texts"),
        (("kept",), r"RULES\['kept'\] must be Rule.*not be named read, kept, "),
    ],
)
def test_wrong_rules_are_refused_when_settings_are_checked(rules, message):
    code = "from pipelines.text.cleaning_rules import *\nRULES['plain'] = print\n"
    code += "RULES['kept'] = Rule('kept', print)"
    with with_entries(code), pytest.raises(ValueError, match=message):
        Cleaning(CleaningConfig(rules=rules))


SOURCE = """
from pipelines.preparation.source_table import SOURCES
from pipelines.checks import SourceError
class Own(list):
    fingerprint = lambda self: {1}
def two(argument):
    yield "a", "b"
    yield eval(argument)
SOURCES |= {"two": two, "list": lambda text: [("a", "b")], "none": lambda text: None,
            "own": lambda text: Own([("a", "b")]), "exits": lambda text: exit()}
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("two:1/0", r"two:1/0 failed at pair 2: ZeroDivisionError: .* \(mine.py, line 8\)"),
        ("two:'a'", r"two:'a': Pair 2 must be \(source, target\), two texts. Received: 'a'"),
        ("own:", "failed: TypeError: Object of type set is not JSON serializable"),
        ("blocks:no.txt", r"The source blocks:no.txt failed: .*: 'no.txt' \(mine.py, line \d+\)"),
        ("tow:x", r"blocks, two, list, none, own, exits \(did you mean 'two'\?\). Received: tow:x"),
        ("tfds:x", "this source has its own flag, --tfds"),
    ],
)
def test_wrong_sources_are_refused_by_name(text, message):
    with with_entries(SOURCE), pytest.raises((SourceError, ValueError), match=message):
        own_source(text).fingerprint()
