"""t2t-translate with an export, and with a run that has one."""

import json

import pytest
from support.models.fake_engine import FakeEngine
from support.processes.in_process import call, parsed_flags

from t2t_keras.runs.exports import fitting
from t2t_keras.translating.engines.engine import Unsupported
from t2t_keras.translating.exports import load_translator

TEXTS = ["The dog sleeps. Yes, the dog.", "", "<p>The <b>cat</b> {x} sleeps.</p>"]
LINES = "".join(f"{text}\n" for text in TEXTS)


@pytest.fixture
def export(exported):
    return exported("ctranslate2")


def test_objects_have_the_translations_of_the_exports_translator(export, tmp_path):
    (tmp_path / "prefixes").write_text("mein\n\ndas\n")
    flags = ["--json", "--beam=3", "--n_best=2", "--confidence", "--alignments", "--markup=html"]
    flags.append(f"--prefixes={tmp_path / 'prefixes'}")
    lines = call("translate", export, *flags, stdin=LINES).stdout.splitlines()
    expected = load_translator(export).translations(
        TEXTS,
        **{"prefixes": ["mein", "", "das"], "beam": 3, "n_best": 2, "markup": "html"},
        **{"confidence": True, "alignments": True},
    )
    for line, translations in zip(lines, expected, strict=True):
        found = json.loads(line)["translations"]
        assert [each["text"] for each in found] == [each.text for each in translations]
        for ours, theirs in zip(found, translations, strict=True):
            assert ours["score"] == pytest.approx(theirs.score)
            assert ours["confidence"] == pytest.approx(theirs.confidence, abs=1e-3)
            assert ours["alignment"] == [list(pair) for pair in theirs.alignment]
    assert expected[0][0].text.startswith("mein") and "<b>" in expected[2][0].text


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--glossary={0}/terms"], "--glossary and --require do not work with CTranslate2"),
        (["--weights=best"], "t2t-export fixed the weights"),
        (["--to=de"], "the training data has no tag 'de'"),
        (["--engine=litert"], "is for --engine=ctranslate2. Received: --engine=litert"),
        (["{0}"], "an export cannot join an ensemble"),
    ],
)
def test_mistakes_are_refused_before_the_work(export, tmp_path, flags, message):
    (tmp_path / "terms").write_text("dog\tHund\n")
    (tmp_path / "out").write_text("kept\n")
    given = [each.format(tmp_path) for each in flags]
    with pytest.raises(ValueError) as raised:
        call("translate", export, f"--output={tmp_path / 'out'}", *given, stdin="The dog.\n")
    assert message in str(raised.value)
    assert {path.name for path in tmp_path.iterdir()} == {"terms", "out"}
    assert (tmp_path / "out").read_text() == "kept\n"


class Narrow(FakeEngine):
    """The engine of a run's export, with beams of up to 4."""

    kind, name = "litert", "narrow"

    def check(self, config, prefix, phrases):
        if config.beam > 4:
            raise Unsupported("`beam` must be at most 4")

    def digest(self):
        return {}


@pytest.fixture
def opened(run, monkeypatch):
    """A function that opens the run with flags, and searches once."""

    def opened(*flags):
        monkeypatch.setattr(fitting, "fitting", lambda *_: "version")
        monkeypatch.setattr(fitting, "open_version", lambda *_: Narrow())
        with parsed_flags("translate", *flags) as command:
            model = command.load_model([run.folder])
        return model.translator.engine

    return opened


def test_a_run_is_opened_with_its_export_unless_that_cannot_do_what_is_asked(opened, caplog):
    assert opened().other is None and not caplog.text
    assert opened("--beam=6").other.kind == "tensorflow"
    assert caplog.text.count("TensorFlow translates, which takes longer: `beam` must be") == 1
    with pytest.raises(ValueError, match="`beam` must be at most 4"):
        opened("--beam=6", "--engine=litert")
    assert opened("--engine=tensorflow").kind == "tensorflow"
