"""Clauses of the toy corpus: one meaning, expressed in the word orders of English and German."""

from pipelines.toy import lexicon
from pipelines.toy.links import Linked, linked


class Clause:
    """A subject, verb, objects, time and place. Each language orders them differently."""

    def __init__(self, sentence, with_tense=None):
        choose, chance = sentence.random, sentence.chance
        verbs, dative, nouns = choose.choice(lexicon.FRAMES)
        self.verb = choose.choice(verbs)
        self.subject = sentence.subject(self.verb, relative=True)
        self.objects = []
        if dative:
            self.objects.append(sentence.noun_phrase(self.verb, lexicon.PEOPLE, "dative"))
        if nouns:
            relative = not dative and chance(0.12)
            phrase = sentence.noun_phrase(self.verb, nouns, "accusative", relative)
            self.objects.append(phrase)
            sentence.relate("object", self.word("", "verb"), phrase.head)
        sentence.relate("subject", self.word("", "verb"), self.subject.head)
        tenses, state = ["present", "past", "modal"], self.verb.german[0] in lexicon.STATES
        if with_tense:
            tenses = ["past"] if with_tense == "past" else ["present", "modal"]
        if state and "modal" in tenses:
            tenses.remove("modal")
        self.tense = choose.choice(tenses)
        self.modal = choose.choice(lexicon.MODALS) if self.tense == "modal" else None
        # A clause with an indefinite object is not negated, because it would need "kein". "Must" is
        # not negated, because "must not" is "darf nicht".
        definite = all(phrase.definite for phrase in self.objects)
        duty = self.modal and self.modal[0][0] == "must"
        self.negated = definite and not duty and chance(0.15)
        # After a relative clause, a time would belong to that clause. States have no time.
        times = lexicon.TIMES[self.tense]
        relative = any("that" in phrase.english for phrase in [self.subject, *self.objects])
        self.time, self.place = ([], []), ([], [])  # English and German words
        if not state and not relative and chance(0.35):
            time = choose.choice(sorted(times))
            self.time = [[word] for word in linked(time, times[time])]
        still = not (dative and nouns) and self.verb.german[0] != "kommen"  # without movement
        if still and not relative and not self.negated and chance(0.2):
            place = choose.choice(sorted(lexicon.PLACES))
            self.place = [[word] for word in linked(place, lexicon.PLACES[place])]

    def word(self, text, *sure, possible=()):
        """Returns a `Linked` word with keys of this clause."""
        return Linked(text, [(self, key) for key in sure], [(self, key) for key in possible])

    def english(self, time_in_front=False):
        """Returns a main or subordinate clause as a list of words."""
        auxiliary, *others = self.english_verbs()
        if not self.negated and auxiliary in ("do", "does", "did"):
            finite = self.verb.english[2 if self.tense == "past" else self.subject.third]
            verbs = [self.word(finite, "verb")]
            if self.modal:
                verbs = [self.word(self.modal[0][self.subject.third], "modal"), others[-1]]
        elif self.negated and auxiliary == "can":
            verbs = [self.word("cannot", "modal", "not"), *others[1:]]
        else:
            verbs = [auxiliary, *others]
        front = [*self.time[0], ","] if time_in_front else []
        return [*front, *self.subject.english, *verbs, *self.english_rest(not time_in_front)]

    def english_question(self):
        """Returns a question such as "Does the man see the dog?", as a list of words."""
        auxiliary, *others = self.english_verbs()
        return [auxiliary, *self.subject.english, *others, *self.english_rest()]

    def english_verbs(self):
        """Returns the verbs of a question: an auxiliary, perhaps "not", and the other verbs."""
        modal = self.modal[0][0] if self.modal else None
        others = [self.word("not", "not")] if self.negated else []
        if modal and modal != "want to":
            auxiliary = self.word(modal, "modal")
        else:
            do = "did" if self.tense == "past" else ("does" if self.subject.third else "do")
            auxiliary = self.word(do, possible=["finite"])
            others += [self.word(modal, "modal")] if modal else []
        return [auxiliary, *others, self.word(self.verb.english[0], "verb")]

    def english_rest(self, with_time=True):
        """Returns the words after the verb: objects, place, time."""
        objects = [word for phrase in self.objects for word in phrase.english]
        return [*objects, *self.place[0], *(self.time[0] if with_time else [])]

    def german_main(self, time_in_front=False):
        """Returns a main clause as a list of words. The finite verb comes second."""
        if time_in_front:
            return [*self.time[1], *self.german_question(with_time=False)]
        finite, last = self.german_verbs()
        return [*self.subject.german, finite, *self.german_middle(), *last]

    def german_question(self, with_time=True):
        """Returns a question as a list of words. The finite verb comes first."""
        finite, last = self.german_verbs()
        return [finite, *self.subject.german, *self.german_middle(with_time), *last]

    def german_subordinate(self):
        """Returns a subordinate clause as a list of words. The finite verb comes last."""
        finite, last = self.german_verbs()
        return [*self.subject.german, *self.german_middle(), *last, finite]

    def german_verbs(self):
        """Returns the finite verb, and a list of the verbs at the end of a main clause."""
        infinitive, *_, participle = self.verb.german
        finite = self.subject.finite
        if self.modal:
            modal = self.word(finite(self.modal[1]), "modal", possible=["finite"])
            return modal, [self.word(infinitive, "verb")]
        if self.tense == "past":
            auxiliary = finite(lexicon.AUXILIARIES[self.verb.auxiliary])
            return self.word(auxiliary, possible=["verb", "finite"]), [
                self.word(participle, "verb")
            ]
        return self.word(finite(self.verb.german), "verb", possible=["finite"]), []

    def german_middle(self, with_time=True):
        """Returns the words between the verbs: time, objects (dative first), negation or place."""
        objects = [word for phrase in self.objects for word in phrase.german]
        negation = [self.word("nicht", "not")] if self.negated else []
        return [*(self.time[1] if with_time else []), *objects, *negation, *self.place[1]]
