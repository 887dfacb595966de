from pipelines.languages.cld2 import LanguageDetector

GERMAN = "Der Hund schläft im Garten und die Katze spielt."


def test_the_sign_for_less_hides_no_text():
    detector = LanguageDetector(("en", "de"))
    for text in (GERMAN, f"x < y {GERMAN}", f"if a<b {GERMAN}", f"<b {GERMAN}"):
        (language, percent), *_ = detector(text)
        assert language == "de" and percent > 80, text


def test_tags_of_html_count_for_nothing():
    detector = LanguageDetector(("en", "de"))
    title = "This is the title of the house that we have seen in the garden of the old town. "
    text = f'<a title="{2 * title}">Hund</a> {GERMAN}'
    assert [detector(text, is_html)[0][0] for is_html in (False, True)] == ["en", "de"]
