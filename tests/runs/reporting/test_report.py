"""The page of a run contains everything, and texts stay texts."""

import base64
import html.parser
import json
import os
import re
import shutil

import numpy as np
import pytest
from support.runs.untrained import QUICK, learned_tokenizer

from pipelines.atomic_files import read_json, write_json
from t2t_keras.runs import Run
from t2t_keras.runs.reporting.translation_sections import LONGEST, calibration_of
from t2t_keras.translating.translator import Translation
from t2t_keras.translating.words import Words, joined_words, words_of

SOURCES = ["</script><script>alert(1)</script>", "A dog &amp; a <b>cat</b>.", "", "The {{body}} of"]
SOURCES += [f"The horse number {n} sleeps." for n in range(12)]
REFERENCES = ["Das Pferd schläft."] * len(SOURCES)
EVALUATIONS = [
    {"step": step, "train_loss": 6 / step, "loss": loss, "perplexity": 9.0, "bleu": 2.0 * step}
    | {"tokens": 3_000_000 * step, "seconds": 3700.0 * step, "flops": 1e15, "learning_rate": 1e-4}
    for step, loss in ((1, 5.0), (2, 4.0), (3, 4.5))
]


class Page(html.parser.HTMLParser):
    """A parsed page: its tags with their attributes, and its texts by tag."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.open = [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def reported(run, tmp_path_factory):
    """A run with evaluations, and the text of its report on a test set."""
    copy = Run(tmp_path_factory.mktemp("report") / "a <i>toy")
    shutil.copytree(run.folder, copy.folder)
    lines = "".join(json.dumps(each) + "\n" for each in EVALUATIONS)
    (copy.folder / "metrics.jsonl").write_text(lines)
    path = copy.report(SOURCES, REFERENCES, name="test.en", limit=99, examples=9, **QUICK)
    assert path == copy.folder / "report.html"
    return copy, path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(reported):
    return Page(reported[1])


@pytest.mark.long
def test_the_page_describes_test_set_training_and_settings(reported, page):
    assert page.texts["h1"] == ["Report on run a <i>toy"] == page.texts["title"]
    assert page.texts["h2"] == [
        *("Scores", "Translations", "Confidence", "Attention", "Data and hardware", "Training"),
        *("Learning rate", "Settings", "Weights", "Command and versions"),
    ]
    assert page.texts["h3"][1:] == ["Best", "Middle", "Worst"]
    text = " ".join(page.texts["p"])
    assert "trained for 3 of 100,000 steps." in text and "9.0 M" in page.texts["strong"]
    assert "test.en, 16 lines (weights: averaged; beam 1)" in text
    facts = dict(zip(page.texts["dt"], page.texts["dd"], strict=True))
    assert facts["languages"] == "English to German"
    assert facts["training text"] == "20,000 pairs of the built-in toy grammar"
    settings = page.texts["code"]
    assert settings[settings.index("model.d_model") + 1 :][:2] == ["16", "512"]
    results = reported[0].translator(n_best=1, **QUICK).translations(SOURCES)
    words = sum(len(best.text.split()) for best, *_ in results)
    assert words and f" on {words:,} words." in text
    descriptions = [image["alt"] for image in page.all("img")]
    assert "Share of right words and number of words over the confidence" in descriptions


@pytest.mark.long
def test_no_text_becomes_markup_and_the_page_loads_nothing_from_elsewhere(reported, page):
    assert len(page.all("script")) == 1 and not page.all("b") and not page.all("i")
    assert len(page.all("bdi")) == 3 * 15 and set(page.texts["bdi"]) & set(SOURCES[:2])
    assert {"Das", "Pferd"} & set(" ".join(page.texts["mark"]).split()), "no output has them"
    assert "default-src 'none'" in reported[1]
    for image in page.all("img"):
        assert base64.b64decode(image["src"].split(",")[1]).startswith(b"\x89PNG")
    assert not re.search(r"""(href|src)=["'](?!data:)|url\(|@import""", reported[1])
    data = json.loads(Page(page.all("iframe")[0]["srcdoc"]).texts["script"][0])
    assert data["sentence"] in SOURCES and "decoder-cross" in data["kinds"]


def test_without_words_or_short_sentences_calibration_and_attention_are_left_out(run, tmp_path):
    translator = run.translator()
    empty = Translation("", 0.0, [], Words([], []), [])
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(translator, "best_of_each", lambda texts, *_, **options: [empty] * 2)
        patches.setattr(run, "translator", lambda weights: translator)
        path = run.report(["dog " * LONGEST, ""], REFERENCES[:2], tmp_path / "page.html")
    page = Page(path.read_text(encoding="utf-8"))
    assert "Translations" in page.texts["h2"] and "Confidence" not in page.texts["h2"]
    assert not page.all("iframe")


def test_without_a_test_set_or_evaluations_the_page_says_so(run, tmp_path):
    path = run.report(path=tmp_path / "page.html")
    assert path == tmp_path / "page.html"
    page = Page(path.read_text(encoding="utf-8"))
    text = " ".join(page.texts["p"])
    assert "No test set was given" in text
    assert "no evaluation yet: the first comes after 1,000 steps" in text
    assert len(page.all("img")) == 1  # the planned schedule


def test_the_page_of_an_imported_run_invents_no_training(copied):
    write_json(copied.config_file, read_json(copied.config_file) | {"imported": "Marian"})
    page = Page(copied.report().read_text(encoding="utf-8"))
    text = " ".join(page.texts["p"])
    assert "trained by a different system (Marian)" in text
    assert "The weights were imported from Marian. How they were trained is not recorded" in text
    assert "toy grammar" not in str(page.texts) and "Learning rate" not in page.texts["h2"]
    assert not [name for name in page.texts["code"] if name.startswith(("training.", "data."))]


def test_mistakes_are_named_before_anything_is_translated(run, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "translator", None)
    with pytest.raises(ValueError, match=r"same number of lines. Received: 1 and 2"):
        run.report(["a"], ["b", "c"], tmp_path / "page")
    with pytest.raises(ValueError, match=r"--output must name the page to write. .*, a folder"):
        run.report(["a"], ["b"], tmp_path)
    with pytest.raises(FileNotFoundError, match=r"none/page\.unfinished"):
        run.report(["a"], ["b"], tmp_path / "none" / "page")


def test_a_report_is_named_after_the_folder_whatever_its_name(run, tmp_path):
    folder = tmp_path / os.fsdecode(b"{{body}}<i>\xff") / "run"  # not UTF-8
    shutil.copytree(run.folder, folder)
    page = Page(Run(folder).report().read_text(encoding="utf-8"))
    assert page.texts["title"] == page.texts["h1"] == ["Report on run {{body}}<i>?"]


def translation(*parts):
    """Returns a `Translation` of three words, with a part for each text."""
    tokenizer = learned_tokenizer()
    parts = [(np.array([2]), np.append(ids, 2)) for ids in tokenizer.encode(parts)]
    words = joined_words([words_of(tokenizer, *part)[0] for part in parts])
    return Translation("", 0.0, parts, words, [0.95, 0.95, 0.25])


def test_words_of_all_parts_are_compared_with_the_words_of_their_reference():
    translations = [translation("Der Hund", "schläft."), translation("Die die Katze", "")]
    result = calibration_of(learned_tokenizer(), translations, ["Der Hund aß.", "die Katze die"])
    bins = [(each.low, each.words, each.right) for each in result.bins]
    assert bins == [(0.2, 2, 0.5), (0.9, 4, 0.75)]
    assert result.error == pytest.approx((2 * 0.25 + 4 * 0.2) / 6)
    assert calibration_of(learned_tokenizer(), [], []) is None
