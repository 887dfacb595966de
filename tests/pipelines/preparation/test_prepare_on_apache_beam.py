import gzip

import pytest
from support.text.small_corpus import config, contents

pytest.importorskip("apache_beam")

import pipelines.text.cleaned_text as cleaned_text
from pipelines.preparation.prepare import prepare
from pipelines.preparation.prepare_on_apache_beam import OnApacheBeam
from pipelines.text.cleaning_rules import STRICT, CleaningConfig
from pipelines.text.columns import ColumnedPairs
from pipelines.text.sources import ScoredPairs, TabSeparatedFile, TextFiles
from pipelines.toy.grammar import pairs

# With duplicates within a part and across parts, and with pairs for other rules.
CORPUS = [*pairs(280), *pairs(50), ("", "leer"), *pairs(3), ("same", "same")]
CORPUS += [("In 1969 a dog slept.", "Im Jahr 1475 schlief ein Hund.")]
CORPUS += [(german, german[::-1]) for _, german in CORPUS[:15]]
SETTINGS = config(encodings=2, size=350)
SETTINGS.cleaning = CleaningConfig(**STRICT)  # all rules
LANGUAGES = ("en", "de")
# Beam's local runner looks for newer versions of Beam and warns about missing packages.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True, scope="module")
def small_parts():
    """Cuts the corpus into four parts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cleaned_text, "PART", 70)
        yield


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    half = len(CORPUS) // 2
    for name, part in (("1.en", CORPUS[:half]), ("2.en.gz", CORPUS[half:])):
        with gzip.open(folder / name, "wt") if ".gz" in name else open(folder / name, "w") as file:
            file.writelines(f"{s}\n" for s, _ in part)
    (folder / "all.de").write_text("".join(f"{t}\n" for _, t in CORPUS))
    (folder / "all.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in CORPUS))
    (folder / "scores").write_text("".join(f"{n % 50 / 50}\n" for n in range(len(CORPUS))))
    return folder


def scored(source, files):
    """Returns a source without the worst tenth of its pairs, and with its scores as weights."""
    source = ScoredPairs(source, files / "scores", best=0.9)
    return ColumnedPairs(source, {"weights": files / "scores"})


@pytest.fixture(scope="module")
def prepared(files):
    """The data of the tab-separated file without Beam, and its report."""
    folder = files / "prepared"
    source = scored(TabSeparatedFile(files / "all.tsv"), files)
    return folder, prepare(source, folder, SETTINGS, languages=LANGUAGES)


@pytest.mark.long
def test_beam_writes_the_same_store(files, prepared, tmp_path):
    """Beam reads line-aligned files here, one of them compressed, and `prepared` a single one."""
    expected, report = prepared
    made = scored(TextFiles(files / "*.en*", files / "all.de"), files), tmp_path / "beam", SETTINGS
    names = [f"{files / name}" for name in ("1.en", "2.en.gz", "all.de")]
    for _ in range(2):
        found = prepare(*made, languages=LANGUAGES, steps=OnApacheBeam())
        assert found == report | {"files": names}
    same = {name: data for name, data in contents(expected).items() if "shard-" in name}
    assert len(same) == 5 * 6 and same.items() <= contents(tmp_path / "beam").items()
