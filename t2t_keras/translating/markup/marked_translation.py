"""Translation of texts with markup: tags, entities, placeholders, addresses."""

from typing import Any, NamedTuple

from pipelines.markup import MARKUP, pieces_of
from pipelines.placeholders import escaped, without_placeholders
from t2t_keras.checks import check_choice
from t2t_keras.translating.markup.marked_text import marked_text
from t2t_keras.translating.sentences import joined_texts, on_one_line, whole
from t2t_keras.translating.text_error import TextError


class Divided(NamedTuple):
    """A text with markup, ready to translate.

    Args:
        pieces: strings that stay, and `Segment`s.
        segments: for each `Segment`, its sentences and the separators between them.
        code: the language code before the text, or "".
    """

    pieces: list
    segments: list
    code: str

    @property
    def sentences(self):
        return [sentence for sentences, _ in self.segments for sentence in sentences] or [""]

    def with_code(self):
        """Returns the sentences with the language code before the first one, and separators.

        A line break between the translations of two sentences is the only one.
        """
        first, *rest = self.sentences
        return [f"{self.code} {first}" if self.code else first, *rest], ["\n"] * len(rest)


class MarkedTranslator:
    """Translates texts with markup with the help of a translator of plain text.

    Args:
        translate: function like `Translator.translate`.
        markup: "html", "xml" or "placeholders".
        align: function from a `Translation` to pairs of word indices. It is called only for texts
            with marks inside a sentence.
        words: function from a `Translation` to its source words and its target words.
        split_code: see `with_codes`. By default, texts have no language code.
    """

    def __init__(self, translate, markup, align, words, split_code=lambda text: ("", text)):
        check_choice("markup", markup, MARKUP)
        self.split_code = split_code
        self.translate_plain, self.markup, self.align, self.words = translate, markup, align, words

    def translate(
        self,
        texts,
        on_progress=lambda count: None,
        split=whole,
        requirements=None,
        prefixes=None,
        **options,
    ):
        """Translates each text; see `Translator.translate`, which has the same arguments.

        Args:
            texts: strings, or for each line of a document, its pieces from `Document.pieces_of`.

        Returns:
            A list of `Translation`s for each text, with markup. Their `parts` are those of the text
            without markup.
        """
        for index in range(len(texts) if requirements else 0):
            if requirements.of_text(index):
                raise TextError(
                    index,
                    "texts with markup can have a glossary, but no required phrases of their own. "
                    "Leave out either the phrases or the markup",
                )
        divided = [self.divide(text, split) for text in texts]
        results = self.translate_plain(
            divided,
            on_progress,
            split=Divided.with_code,
            requirements=requirements,
            prefixes=prefixes,
            **options,
        )
        translated = []
        for index, (one, translations) in enumerate(zip(divided, results, strict=True)):
            wanted = Wanted(requirements, index, prefixes[index] if prefixes else "")
            texts = [self.with_markup(one, each, wanted) for each in translations]
            translated.append(
                [each._replace(text=text) for each, text in zip(translations, texts, strict=True)]
            )
        return translated

    def divide(self, text, split):
        if not isinstance(text, str):
            code, pieces = self.without_code(text)
        else:
            code, text = self.split_code(text)
            pieces = pieces_of(text, self.markup)
            if text.strip() == "":
                pieces = []  # as without markup, its translation is empty
        segments = [split(each.text) for each in pieces if not isinstance(each, str)]
        return Divided(pieces, segments, code)

    def without_code(self, pieces):
        """Returns the language code before the first text of a line's pieces, and the rest."""
        for index, piece in enumerate(pieces):
            if not isinstance(piece, str):
                code, rest = self.split_code(piece.text)
                if code:
                    piece = piece.without_start(len(piece.text) - len(rest))
                return code, [*pieces[:index], piece, *pieces[index + 1 :]]
        return "", pieces

    def with_markup(self, divided, translation, wanted):
        """Returns the text of a translation with the markup of its source.

        Args:
            divided: a `Divided`.
            translation: the `Translation` of its sentences.
            wanted: the `Wanted` of the text.
        """
        count = len(divided.sentences)
        # The translation of a single sentence may itself contain line breaks.
        text = translation.text
        texts = text.split("\n") if count > 1 else [on_one_line(text)]
        texts = [
            without_placeholders(each, sentence, wanted.phrases(sentence, is_first=not index))
            for index, (each, sentence) in enumerate(zip(texts, divided.sentences, strict=True))
        ]
        marked = any(each.marks for each in divided.pieces if not isinstance(each, str))
        words = self.aligned_words(divided, texts, translation) if marked else None
        written, taken = [], 0
        segments = iter(divided.segments)
        for piece in divided.pieces:
            if isinstance(piece, str):
                written.append(piece)
                continue
            sentences, separators = next(segments)
            own = slice(taken, taken + len(sentences))
            taken = own.stop
            if texts[own] == sentences:
                written.append(piece.raw)  # entities too: nothing was translated
                continue
            joined = joined_texts(texts[own], separators)
            inside = words.between(own) if words else ([], [], [])
            translated = marked_text(piece, joined, *inside, self.escape)
            written += [piece.before, translated, piece.after]
        return "".join(written)

    def escape(self, text):
        return escaped(text, self.markup)

    def aligned_words(self, divided, texts, translation):
        source, target = self.words(translation)
        return AlignedWords(
            by_sentence([self.split_code(each)[1] for each in divided.sentences], source),
            by_sentence(texts, target),
            source,
            target,
            self.align(translation),
        )


class Wanted(NamedTuple):
    """What the user demands of the translation of a text.

    Args:
        requirements: `Requirements`, or None.
        index: the index of the text in them.
        prefix: the text that the translation begins with.
    """

    requirements: Any
    index: int
    prefix: str

    def phrases(self, sentence, is_first):
        """Returns what the translation of a sentence must contain."""
        phrases = [self.prefix] if is_first else []
        if self.requirements is not None:
            phrases += self.requirements.of_sentence(sentence, self.index)
        return phrases


class AlignedWords(NamedTuple):
    """The words of a text and of its translation.

    Args:
        source_ends, target_ends: number of words up to the end of each sentence.
        source, target: words.
        pairs: (source word, target word) indices.
    """

    source_ends: list
    target_ends: list
    source: list
    target: list
    pairs: Any

    def between(self, sentences):
        """Returns the source words, target words and pairs of a slice of the sentences."""
        first, last = sentences.start, sentences.stop - 1
        begin, end = (self.source_ends[first - 1] if first else 0), self.source_ends[last]
        start, stop = (self.target_ends[first - 1] if first else 0), self.target_ends[last]
        pairs = [(i - begin, j - start) for i, j in self.pairs if begin <= i < end]
        pairs = [(i, j) for i, j in pairs if 0 <= j < stop - start]
        return self.source[begin:end], self.target[start:stop], pairs


def by_sentence(sentences, words):
    """Returns the number of words up to the end of each sentence.

    A word belongs to the sentence in which its last letter lies, counted without white space. The
    counts of a tokenizer that has changed letters are scaled to the sentences' lengths.
    """
    letters = [len("".join(sentence.split())) for sentence in sentences]
    sizes = [len("".join(word.split())) for word in words]
    scale = sum(sizes) / max(sum(letters), 1)
    ends, word, covered, needed = [], 0, 0, 0
    for count in letters:
        needed += count * scale
        while word < len(sizes) and covered + sizes[word] / 2 <= needed:
            covered += sizes[word]
            word += 1
        ends.append(word)
    if ends:
        ends[-1] = len(words)
    return ends
