import gzip

import pytest

from pipelines.glossaries.glossary import Glossary

LANGUAGES = "en-US", "de"
BASIC = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE martif SYSTEM "TBXcoreStructV02.dtd">
<martif type="TBX-Basic" xml:lang="en"><text><body>
<termEntry id="1"><descrip type="subjectField">animals</descrip>
<langSet xml:lang="en">
 <tig><term>dog</term></tig>
 <tig><term>cur</term><termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></tig>
 <tig><term>hound</term></tig></langSet>
<langSet xml:lang="fr"><tig><term>chien</term></tig></langSet>
<langSet xml:lang="de">
 <ntig><termGrp><term>Köter</term></termGrp></ntig>
 <tig><term>Hund</term><termNote type="administrativeStatus">preferredTerm-admn-sts</termNote></tig>
</langSet></termEntry>
<termEntry id="2"><langSet xml:lang="en"><tig><term>dog</term></tig></langSet>
<langSet xml:lang="de"><tig><term>Gauner</term></tig></langSet></termEntry>
</body></text></martif>"""
VERSION_3 = """<t:tbx xmlns:t="urn:iso:std:iso:30042:ed-2" xmlns:min="x" style="dct" xml:lang="en">
<t:text><t:body><t:conceptEntry id="1">
<t:langSec xml:lang="en-GB"><t:termSec><t:term>red
  shirt &amp; tie</t:term></t:termSec></t:langSec>
<t:langSec xml:lang="de-AT">
<t:termSec><t:term>Hemd</t:term><min:administrativeStatus>supersededTerm-admn-sts</min:administrativeStatus></t:termSec>
<t:termSec><t:term>rotes <hi>Hemd</hi></t:term></t:termSec></t:langSec>
<t:langSec><t:termSec><t:term>without a language</t:term></t:termSec></t:langSec>
</t:conceptEntry></t:body></t:text></t:tbx>"""
ATTACK = '<!DOCTYPE martif [<!ENTITY a "aaaa">\n<!ENTITY b "&a;&a;">]><martif>&b;</martif>'


@pytest.mark.parametrize(
    ("name", "contents", "entries"),
    [
        ("a.tsv", "<?xml>\tb\n#c\td\n", {"<?xml>": "b"}),
        ("a", "\ufeff# c\n\na\tb\r\n c  d \te F\na\tb", {"a": "b", "c d": "e F"}),
        ("a.csv", 'a,"b, ""c"""\r\n"d\ne",f\r\n\r\n', {"a": 'b, "c"', "d e": "f"}),
        ("a", "a;b,c\n\nd;e\n", {"a": "b,c", "d": "e"}),
        ("a.csv.gz", '"a;b";c', {"a;b": "c"}),
        ("a", "Source term,note,Target term\na,x,b\n,y,\n", {"a": "b"}),
        ("a.csv", "\ufeffDE;note;en\nb;x;a", {"a": "b"}),
        ("a.csv", "an,ein\nis,ist", {"an": "ein", "is": "ist"}),
        ("a.tbx", BASIC, {"dog": "Hund", "hound": "Hund"}),
        ("a", "\n" + VERSION_3, {"red shirt & tie": "rotes Hemd"}),
    ],
)
def test_the_format_is_recognized_by_the_name_or_the_contents(tmp_path, name, contents, entries):
    path, contents = tmp_path / name, contents.encode()
    path.write_bytes(gzip.compress(contents) if name.endswith("gz") else contents)
    assert Glossary.read(path, languages=LANGUAGES).targets == entries
    if "." not in name:
        assert Glossary.parse(contents, "`glossary`", languages=LANGUAGES).targets == entries


@pytest.mark.parametrize(
    ("name", "contents", "message"),
    [
        ("a", "a\tb\n\nc", "line 3: must be a source phrase, a tab and a .* Received: 'c'"),
        ("a", "a\tb\n\nc\td\te", "line 3: must be a source phrase, a tab"),
        ("a", "a\tb\n\nc\t ", "line 3: a phrase is empty"),
        ("a", "a\tb\n\na\tc", "line 3: 'a' has two translations, 'b' and 'c'"),
        ("a", b"a\tb\n\nc\t\xff", "line 3: is not UTF-8"),
        ("a.csv", 'a,b\n"c\nd",e\nf,g,h', "line 4: must have 2 columns. Received: 3"),
        ("a.csv", 'a,b\nc,"d', "line 2: is not CSV: unexpected end of data"),
        ("a.csv", "a b\n", "line 1: must name the columns en-US and de, or have two columns"),
        (
            "a.csv",
            "en,fr\na,b\n",
            "line 1: must name the columns en-US and de, or have two columns .* Received: en, fr",
        ),
        ("a.tbx", ATTACK, "line 1: declarations of entities are refused"),
        ("a.tbx", '<!DOCTYPE a SYSTEM "b">\n<martif>&c;</martif>', "line 2: .*undefined entity"),
        ("a.tbx", "<martif>\n<text>", r"line 2: is not well-formed XML \(no element found\)"),
        ("a.tbx", BASIC.replace('"de"', '"it"'), "both en-US and de. The terms are in en, fr, it"),
    ],
)
def test_mistakes_and_attacks_are_reported_with_their_line(tmp_path, name, contents, message):
    path = tmp_path / name
    path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    with pytest.raises(ValueError, match=f"{path}.*{message}"):
        Glossary.read(path, languages=LANGUAGES)


def test_without_languages_columns_are_source_and_target_and_a_termbase_is_refused():
    assert Glossary.parse(b"target,source\nHund,dog\n", "a.csv").targets == {"dog": "Hund"}
    for contents in (b"de,en,fr\nHund,dog,chien\n", b"it,es\nhe,er\n"):  # perhaps words
        with pytest.raises(ValueError, match=r"the columns source and target \(the model does"):
            Glossary.parse(contents, "a.csv")
    with pytest.raises(ValueError, match="--languages=SOURCE,TARGET, or save the terms"):
        Glossary.parse(BASIC.encode(), "a.tbx")
    with pytest.raises(ValueError, match="at most 64,000,000 bytes"):
        Glossary.parse(bytes(64_000_001), "a.tsv")
