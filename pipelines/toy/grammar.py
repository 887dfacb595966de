"""A toy corpus: an unlimited, seeded series of random English sentences and German translations.

It needs no download. The vocabulary is small: about a hundred words in a few hundred forms. But the
sentences have the features that make German hard: gender, case, adjective endings, agreement of
verb and subject, the finite verb in second place, participles and infinitives at the end, and
subordinate and relative clauses with the verb last.

Every sentence of the test split has a combination of a verb and a noun that no training sentence
has. So a model that does well on this split has learned the grammar, not the sentences.
"""

import itertools
import random
import zlib
from types import MappingProxyType
from typing import NamedTuple

from pipelines.checks import check_value
from pipelines.toy import lexicon
from pipelines.toy.links import Linked, alignment, key_of, linked

LANGUAGES = ("en", "de")
SPLITS = ("train", "test")
ONE_IN = 10  # one in ten combinations of verb and noun is reserved for the test split
# Orders of the parts of a clause in English and German: (S)ubject, (O)bjects, (P)lace, (T)ime.
# English: all (V)erbs, or the (A)uxiliary and the (R)est of the verbs. German: the (F)inite verb,
# the (L)ast verbs, and (N)egation.
MAIN = "SVOPT", "SFTONPL"
TIME_FIRST = "T,SVOP", "TFSONPL"
QUESTION = "ASROPT", "FSTONPL"
SUBORDINATE = "SVOPT", "STONPLF"
# A clause in front takes the first place, so the German verb follows immediately.
AFTER_CLAUSE = "SVOPT", "FSTONPL"


class Phrase(NamedTuple):
    """A noun phrase in both languages, with the features that other words agree with."""

    english: list
    german: list
    head: Linked  # the English noun or pronoun
    person: int = 2  # 0: I, 1: you, 2: he, she, it
    plural: bool = False
    definite: bool = True
    noun: lexicon.Noun | None = None

    @property
    def third(self):
        """Whether it is in the third person singular."""
        return self.person == 2 and not self.plural

    def finite(self, forms):
        """Returns the German verb form (plural, I, you, he) that agrees with this subject."""
        return forms[0 if self.plural else 1 + self.person]


class Clause:
    """A subject, verbs, objects, time and place. Each language orders them differently."""

    def __init__(self, sentence, with_tense=None):
        choose, chance = sentence.random, sentence.chance
        verbs, dative, nouns = choose.choice(lexicon.FRAMES)
        verb = choose.choice(verbs)
        self.subject = sentence.subject(verb, relative=True)
        objects = []
        if dative:
            objects.append(sentence.noun_phrase(verb, lexicon.PEOPLE, "dative"))
        if nouns:
            relative = not dative and chance(0.12)
            objects.append(sentence.noun_phrase(verb, nouns, "accusative", relative))
            sentence.relate("object", self.word("", "verb"), objects[-1].head)
        sentence.relate("subject", self.word("", "verb"), self.subject.head)
        tenses, state = ["present", "past", "modal"], verb.german[0] in lexicon.STATES
        if with_tense:
            tenses = ["past"] if with_tense == "past" else ["present", "modal"]
        if state and "modal" in tenses:
            tenses.remove("modal")
        self.tense = choose.choice(tenses)
        modal = choose.choice(lexicon.MODALS) if self.tense == "modal" else None
        # A clause with an indefinite object is not negated, because it would need "kein". "Must" is
        # not negated, because "must not" is "darf nicht".
        definite = all(phrase.definite for phrase in objects)
        duty = modal and modal[0][0] == "must"
        negated = definite and not duty and chance(0.15)
        # After a relative clause, a time would belong to that clause. States have no time.
        times = lexicon.TIMES[self.tense]
        relative = any("that" in phrase.english for phrase in [self.subject, *objects])
        time, place = ([], []), ([], [])  # English and German words
        if not state and not relative and chance(0.35):
            time = linked_choice(choose, times)
        still = not (dative and nouns) and verb.german[0] != "kommen"  # without movement
        if still and not relative and not negated and chance(0.2):
            place = linked_choice(choose, lexicon.PLACES)
        self.has_time = bool(time[0])
        object_words = ([word for phrase in objects for word in phrase[side]] for side in (0, 1))
        common = zip(self.subject[:2], object_words, place, time, strict=True)
        verbs = self.english_verbs(verb, modal, negated), self.german_verbs(verb, modal, negated)
        self.parts = [
            {**dict(zip("SOPT", parts, strict=True)), **own, ",": [","]}
            for parts, own in zip(common, verbs, strict=True)
        ]

    def word(self, text, *sure, possible=()):
        """Returns a `Linked` word with keys of this clause."""
        return Linked(text, [(self, key) for key in sure], [(self, key) for key in possible])

    def words(self, orders):
        """Returns the English and the German words in orders such as `MAIN`."""
        ordered = zip(orders, self.parts, strict=True)
        return [[word for part in order for word in parts[part]] for order, parts in ordered]

    def english_verbs(self, verb, modal, negated):
        """Returns the verbs of a question, an auxiliary and others, and a statement's verbs."""
        past, third = self.tense == "past", self.subject.third
        others = [self.word("not", "not")] if negated else []
        if modal and modal[0][0] != "want to":
            auxiliary = self.word(modal[0][0], "modal")
            verbs = [auxiliary]
        else:
            auxiliary = self.word("did" if past else "does" if third else "do", possible=["finite"])
            others += [self.word(modal[0][0], "modal")] if modal else []
            verbs = [self.word(modal[0][third], "modal")] if modal else []
        infinitive = self.word(verb.english[0], "verb")
        others.append(infinitive)
        if negated and auxiliary == "can":
            verbs = [self.word("cannot", "modal", "not"), infinitive]
        elif negated:
            verbs = [auxiliary, *others]
        elif verbs:
            verbs.append(infinitive)
        else:
            verbs = [self.word(verb.english[2 if past else third], "verb")]
        return {"A": [auxiliary], "R": others, "V": verbs}

    def german_verbs(self, verb, modal, negated):
        """Returns the finite verb, the verbs at the end of a main clause, and the negation."""
        infinitive, *_, participle = verb.german
        finite, last = self.subject.finite, []
        if modal:
            first = self.word(finite(modal[1]), "modal", possible=["finite"])
            last = [self.word(infinitive, "verb")]
        elif self.tense == "past":
            auxiliary = finite(lexicon.AUXILIARIES[verb.auxiliary])
            first = self.word(auxiliary, possible=["verb", "finite"])
            last = [self.word(participle, "verb")]
        else:
            first = self.word(finite(verb.german), "verb", possible=["finite"])
        return {"F": [first], "L": last, "N": [self.word("nicht", "not")] if negated else []}


def linked_choice(choose, phrases):
    """Returns a random one of {English: German} as a list of English and one of German words."""
    english = choose.choice(sorted(phrases))
    return [[words] for words in linked(english, phrases[english])]


class Sentence:
    """A sentence pair that is being generated.

    Args:
        random: a `random.Random`.

    Attributes:
        combinations: the (German verb, German noun) combinations that the sentence contains.
        phrases: the noun phrases that the sentence contains.
        related: (kind, key of the word at the start, key of the word at the end) of the relations
            between English words; see `Relation`.
        english, german: the `Linked` words, after `make`.
        terms: {noun: the `Noun` whose German forms and gender are used instead}.
    """

    terms = MappingProxyType({})

    def __init__(self, random):
        self.random, self.combinations, self.phrases, self.related = random, set(), [], []

    def chance(self, probability):
        return self.random.random() < probability

    def relate(self, kind, start, end):
        """Records a relation between two English `Linked` words."""
        self.related.append((kind, key_of(start), key_of(end)))

    def make(self):
        """Generates the sentence and returns it as (English, German)."""
        kinds = [self.statement, self.question, self.two_clauses, self.reported]
        kind = self.random.choices(kinds, weights=[6, 1, 2, 2])[0]
        self.english, self.german = kind()
        return self.texts("?" if kind == self.question else ".")

    def texts(self, end="."):
        return written(self.english, end), written(self.german, end)

    def statement(self):
        clause = Clause(self)
        return clause.words(TIME_FIRST if clause.has_time and self.chance(0.5) else MAIN)

    def question(self):
        return Clause(self).words(QUESTION)

    def reported(self):
        """Returns a sentence such as "The man knows that …", as English and German words."""
        verb = self.random.choice(lexicon.WITH_CLAUSE)
        subject = self.subject(verb)
        english, german = Clause(self).words(SUBORDINATE)
        knows, weiß = self.present(verb, subject)
        that, dass = linked("that", "dass")
        german = [*subject.german, weiß, ",", dass, *german]
        return [*subject.english, knows, that, *english], german

    def two_clauses(self):
        main = Clause(self)
        other = Clause(self, with_tense=main.tense)
        conjunction = self.random.choice(sorted(lexicon.CONJUNCTIONS))
        german = lexicon.CONJUNCTIONS[conjunction]
        if conjunction == "when" and other.tense == "past":
            german = "als"
        pairs = zip(linked(conjunction, german), other.words(SUBORDINATE), strict=True)
        english, german = ([word, *words] for word, words in pairs)
        if self.chance(0.5):
            before, davor = main.words(MAIN)
            return [*before, *english], [*davor, ",", *german]
        after, danach = main.words(AFTER_CLAUSE)
        return [*english, ",", *after], [*german, ",", *danach]

    def present(self, verb, subject, object=None):
        """Returns the present of a verb in both languages. `object` is an English `Linked` word."""
        sees, sieht = linked(verb.english[subject.third], subject.finite(verb.german))
        self.relate("subject", sees, subject.head)
        if object:
            self.relate("object", sees, object)
        return sees, sieht

    def subject(self, verb, relative=False):
        if self.chance(0.25):
            english, german, person, plural = self.random.choice(lexicon.PRONOUNS)
            english, german = linked(english, german)
            return Phrase([english], [german], english, person, plural)
        return self.noun_phrase(verb, lexicon.PEOPLE, "nominative", relative and self.chance(0.12))

    def noun_phrase(self, verb, nouns, case, relative=False):
        """Returns a determiner and a noun, perhaps with an adjective and a relative clause."""
        noun, plural = self.random.choice(nouns), self.chance(0.3)
        self.combinations.add((verb.german[0], noun.german))
        term = self.terms.get(noun, noun)
        form = "p" if plural else term.gender
        german_noun = term.german_plural if plural else term.german
        if plural and case == "dative" and german_noun[-1] not in "ns":
            german_noun += "n"
        words = [(noun.english_plural if plural else noun.english, german_noun)]
        adjective = None
        if self.chance(0.4):
            is_person, adjectives = nouns is lexicon.PEOPLE, sorted(lexicon.ADJECTIVES)
            adjective = self.random.choice(lexicon.OF_PEOPLE if is_person else adjectives)
        determiner = self.random.choices([*lexicon.DETERMINERS], weights=[8, 6, 2, 2, 1, 1])[0]
        stem, articles, endings = lexicon.DETERMINERS[determiner]
        is_bare = determiner == "a" and plural
        if adjective:
            ending = (lexicon.STRONG if is_bare else endings)[case][form]
            words.insert(0, (adjective, lexicon.ADJECTIVES[adjective] + ending))
        if not is_bare:
            english = "these" if determiner == "this" and plural else determiner
            english += "n" * (determiner == "a" and words[0][0][0] in "aeiou")
            words.insert(0, (english, stem + articles[case][form]))
        english, german = map(list, zip(*(linked(*pair) for pair in words), strict=True))
        phrase = Phrase(english, german, english[-1], 2, plural, determiner != "a", noun)
        if not is_bare:
            self.relate("determiner", english[0], phrase.head)
        self.phrases.append(phrase)
        if relative:
            self.add_relative_clause(phrase, form)
        return phrase

    def add_relative_clause(self, phrase, form):
        """Adds a clause such as "that sees the cat" or "that the cat sees" to a noun phrase."""
        is_thing = phrase.noun in lexicon.THINGS
        if is_thing or self.chance(0.4):
            verb = self.random.choice(lexicon.WITH_THING if is_thing else lexicon.WITH_PERSON)
            subject, case = self.subject(verb), "accusative"
            sees, sieht = self.present(verb, subject, phrase.head)
            english, german = [*subject.english, sees], [*subject.german, sieht]
        else:
            verb = self.random.choice(lexicon.WITH_PERSON)
            object, case = self.noun_phrase(verb, lexicon.PEOPLE, "accusative"), "nominative"
            sees, sieht = self.present(verb, phrase, object.head)
            english, german = [sees, *object.english], [*object.german, sieht]
        self.combinations.add((verb.german[0], phrase.noun.german))
        that, der = linked("that", lexicon.DER[case][form])
        phrase.english.extend([that, *english])
        phrase.german.extend([",", der, *german, ","])


def written(words, end):
    """Joins words into a sentence: adds a capital letter and an end mark, and fixes commas."""
    text = " ".join([*words, end]).replace(" ,", ",").replace(",,", ",")
    text = text.replace(f", {end}", end).replace(f" {end}", end)
    return text[0].upper() + text[1:]


def has_held_out(sentence):
    """Returns whether it has a combination of verb and noun that is reserved for the test split."""
    texts = map(" ".join, sentence.combinations)
    return any(zlib.crc32(text.encode()) % ONE_IN == 0 for text in texts)


def generated(choices, split):
    """Yields an unlimited number of `Sentence`s of a split, with their two texts."""
    check_value("split", split, str, choices=SPLITS)
    while True:
        sentence = Sentence(choices)
        texts = sentence.make()
        if has_held_out(sentence) == (split == "test"):
            yield sentence, texts


def aligned_sentences(split="train", seed=0):
    """Yields an unlimited number of triples (English, German, alignment).

    The alignment consists of pairs of word indices in Pharaoh format: `1-2` is a sure link, and
    `1p2` is a possible link. Words are separated by spaces.

    Args:
        split: "train" or "test". Every pair of "test" has a combination of verb and noun that no
            pair of "train" has.
        seed: random seed.
    """
    for sentence, texts in generated(random.Random(f"{split} {seed}"), split):
        yield *texts, alignment(sentence.english, sentence.german)


def sentences(split="train", seed=0):
    """Yields the (English, German) pairs of `aligned_sentences`."""
    return (texts for _, texts in generated(random.Random(f"{split} {seed}"), split))


def pairs(count, split="train", seed=0):
    """Returns the first `count` pairs of `sentences` as a list."""
    return list(itertools.islice(sentences(split, seed), count))
