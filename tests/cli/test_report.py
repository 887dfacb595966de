"""t2t-report writes a page with everything in it, on which texts stay texts."""

import base64
import html.parser
import json
import re

import pytest
from commands import command
from untrained import toy_tokenizer, untrained_run

SOURCES = ["</script><script>alert(1)</script>", "A dog &amp; a <b>cat</b>.", "", "The {{body}} of"]
SOURCES += [f"The horse number {n} sleeps." for n in range(12)]
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
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "a <i>toy"
    vocabulary = folder.parent / "vocabulary"
    untrained_run(folder, vocabulary, toy_tokenizer(vocabulary))
    lines = "".join(json.dumps(each) + "\n" for each in EVALUATIONS)
    (folder / "metrics.jsonl").write_text(lines)
    (folder / "test.en").write_text("".join(f"{line}\n" for line in SOURCES))
    (folder / "test.de").write_text("Das Pferd schläft.\n" * len(SOURCES))
    (folder / "short.de").write_text("Das Pferd.\n")
    return folder


def test_the_report_shows_the_run_and_its_results_on_a_test_set(run):
    flags = [f"--source={run}/test.en", f"--reference={run}/test.de"]
    result = command("report", run, *flags, "--beam=1", "--extra_length=3", "--examples=9")
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{run}/report.html\n"
    text = (run / "report.html").read_text()
    page = Page(text)
    assert page.texts["h2"] == [
        *("Scores", "Translations", "Attention", "Training"),
        *("Learning rate", "Settings", "Weights", "Command and versions"),
    ]
    assert page.texts["h3"][1:] == ["Best", "Middle", "Worst"]
    assert page.texts["h1"] == ["Report on run a <i>toy"] == page.texts["title"]
    # No text becomes markup, and nothing is loaded from elsewhere.
    assert len(page.all("script")) == 1 and not page.all("b") and not page.all("i")
    shown = page.texts["bdi"]
    assert len(shown) == 3 * 15 and set(shown) & set(SOURCES[:2])
    assert "default-src 'none'" in text
    for image in page.all("img"):
        assert base64.b64decode(image["src"].split(",")[1]).startswith(b"\x89PNG")
    assert not re.search(r"""(href|src)=["'](?!data:)|url\(|@import""", text)
    attention = Page(page.all("iframe")[0]["srcdoc"])
    data = json.loads(attention.texts["script"][0])
    assert data["start"] == "#decoder-cross-1" and data["sentence"] in SOURCES

    text = " ".join(page.texts["p"])
    assert "trained for 3 of 100,000 steps on 9.0 million tokens" in text
    assert "5.00 at step 1 and 4.50 at the last evaluation, step 3" in text
    assert "test.en (16 lines)" in text and "Trained on the embedded toy grammar" in text
    settings = page.texts["code"]
    assert settings[settings.index("model.d_model") + 1 :][:2] == ["16", "512"]


def test_without_a_test_set_or_evaluations_the_report_says_so(run, tmp_path):
    output = tmp_path / "report.html"
    (run / "metrics.jsonl").rename(run / "hidden")
    try:
        result = command("report", run, f"--output={output}")
    finally:
        (run / "hidden").rename(run / "metrics.jsonl")
    assert result.returncode == 0, result.stderr
    page = Page(output.read_text())
    assert "No test set was given" in " ".join(page.texts["p"])
    assert "no evaluation yet: the first comes after 1,000 steps" in " ".join(page.texts["p"])
    assert len(page.all("img")) == 1  # the planned schedule


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes one run's folder"),
        (["{0}/none"], "is not a run"),
        (["{0}", "--source={0}/test.en"], "give both or neither"),
        (["{0}", "--source={0}/test.en", "--reference={0}/short.de"], "Received: 16 and 1"),
        (["{0}", "--source={0}/none", "--reference={0}/none"], "No such file"),
        (["{0}", "--limit=0"], "limit"),
        (["{0}", "--output={0}"], "a folder"),
        (
            ["{0}", "--source={0}/test.en", "--reference={0}/test.de", "--output={0}/none/page"],
            "No such file or directory",
        ),
    ],
)
def test_mistakes_end_with_one_message_and_exit_code_2(run, arguments, message):
    result = command("report", *(argument.format(run) for argument in arguments))
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr
