"""Clauses of the toy corpus: one meaning, expressed in the word orders of English and German."""

from pipelines.toy.links import Linked, key_of, linked
from pipelines.toy.words import (
    BE,
    HAVE,
    INTRANSITIVE,
    MODALS,
    PEOPLE,
    PLACES,
    STATES,
    THINGS,
    TIMES,
    WITH_BOTH,
    WITH_DATIVE,
    WITH_PERSON,
    WITH_THING,
)


class Clause:
    """A subject, verb, objects, time and place. Each language orders them differently."""

    def __init__(self, sentence, with_tense=None):
        choose = sentence.random
        kind, verbs = choose.choice(
            [
                ("intransitive", INTRANSITIVE),
                ("accusative", WITH_PERSON),
                ("accusative", WITH_THING),
                ("accusative", WITH_THING),
                ("dative", WITH_DATIVE),
                ("both", WITH_BOTH),
            ]
        )
        self.verb = choose.choice(verbs)
        self.subject = sentence.subject(self.verb, relative=True)
        self.objects = []
        if kind in ("dative", "both"):
            self.objects.append(sentence.noun_phrase(self.verb, PEOPLE, "dative"))
        if kind in ("accusative", "both"):
            nouns = PEOPLE if verbs is WITH_PERSON else THINGS
            relative = kind == "accusative" and sentence.chance(0.12)
            phrase = sentence.noun_phrase(self.verb, nouns, "accusative", relative)
            self.objects.append(phrase)
            sentence.relate("object", (self, "verb"), key_of(phrase.head))
        sentence.relate("subject", (self, "verb"), key_of(self.subject.head))
        tenses, state = ["present", "past", "modal"], self.verb.german[0] in STATES
        if with_tense:
            tenses = ["past"] if with_tense == "past" else ["present", "modal"]
        if state and "modal" in tenses:
            tenses.remove("modal")
        self.tense = choose.choice(tenses)
        self.modal = choose.choice(MODALS) if self.tense == "modal" else None
        # A clause with an indefinite object is not negated, because it would need "kein". "Must" is
        # not negated, because "must not" is "darf nicht".
        definite = all(phrase.definite for phrase in self.objects)
        duty = self.modal and self.modal[0][0] == "must"
        self.negated = definite and not duty and sentence.chance(0.15)
        # After a relative clause, a time would belong to that clause. States have no time.
        times = TIMES[self.tense]
        relative = any("that" in phrase.english for phrase in [self.subject, *self.objects])
        timeless = state or relative
        self.time = choose.choice(sorted(times)) if not timeless and sentence.chance(0.35) else None
        self.place = None
        still = kind != "both" and self.verb.german[0] != "kommen"  # without movement
        if still and not relative and not self.negated and sentence.chance(0.2):
            self.place = choose.choice(sorted(PLACES))

    def english(self, time_in_front=False):
        subject, verb = self.subject, self.verb.english
        third = subject.person == 2 and not subject.plural
        if self.modal:
            modal = Linked(self.modal[0][third], [(self, "modal")])
            if not self.negated:
                words = [modal]
            elif modal.endswith(" to"):
                words = [self.do(), self.negation("not"), self.want_to()]
            elif modal == "can":
                words = [Linked("cannot", [*modal.sure, (self, "not")])]
            else:
                words = [modal, self.negation("not")]
        else:
            words = [self.do(), self.negation("not")] if self.negated else []
        if words:
            verb = verb[0]
        else:
            verb = verb[2] if self.tense == "past" else english_present(self.verb, subject)
        front = [self.time_words()[0], ","] if time_in_front else []
        words = [*front, *subject.english, *words, self.lexical(verb)]
        return words + self.english_rest(not time_in_front)

    def english_question(self):
        """Returns a question such as "Does the man see the dog?", as a list of words."""
        verb = [self.lexical(self.verb.english[0])]
        modal = self.modal[0][0] if self.modal else None
        if modal and not modal.endswith(" to"):
            first = Linked(modal, [(self, "modal")])
        else:
            first = self.do()
            verb = [self.want_to(), *verb] if modal else verb
        negation = [self.negation("not")] if self.negated else []
        return [first, *self.subject.english, *negation, *verb, *self.english_rest()]

    def do(self):
        third = self.subject.person == 2 and not self.subject.plural
        word = "did" if self.tense == "past" else ("does" if third else "do")
        return Linked(word, possible=[(self, "finite")])

    def want_to(self):
        return Linked("want to", [(self, "modal")])

    def lexical(self, word):
        return Linked(word, [(self, "verb")])

    def negation(self, word):
        return Linked(word, [(self, "not")])

    def time_words(self):
        """Returns the time in English and German."""
        return linked(self.time, TIMES[self.tense][self.time], (self, "time"))

    def place_words(self):
        """Returns the place in English and German."""
        return linked(self.place, PLACES[self.place], (self, "place"))

    def english_rest(self, with_time=True):
        """Returns the words after the verb: objects, place, time."""
        rest = [word for phrase in self.objects for word in phrase.english]
        rest += [self.place_words()[0]] if self.place else []
        return rest + ([self.time_words()[0]] if self.time and with_time else [])

    def german_main(self, time_in_front=False):
        """Returns a main clause as a list of words. The finite verb comes second."""
        if time_in_front:
            return [self.time_words()[1], *self.german_question(with_time=False)]
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
        finite = [(self, "finite")]
        if self.modal:
            modal = german_finite(self.modal[1], self.subject)
            return Linked(modal, [(self, "modal")], finite), [self.lexical(self.verb.german[0])]
        if self.tense == "past":
            auxiliary = german_finite(HAVE if self.verb.auxiliary == "haben" else BE, self.subject)
            helps = Linked(auxiliary, possible=[(self, "verb"), *finite])
            return helps, [self.lexical(self.verb.german[4])]
        verb = german_finite(self.verb.german, self.subject)
        return Linked(verb, [(self, "verb")], finite), []

    def german_middle(self, with_time=True):
        """Returns the words between the verbs: time, objects (dative first), negation or place."""
        middle = [self.time_words()[1]] if self.time and with_time else []
        middle += [word for phrase in self.objects for word in phrase.german]
        middle += [self.negation("nicht")] if self.negated else []
        return middle + ([self.place_words()[1]] if self.place else [])


def english_present(verb, subject):
    return verb.english[subject.person == 2 and not subject.plural]


def german_finite(forms, subject):
    """Returns the form that agrees with the subject. Plurals use the infinitive or "sind"."""
    if subject.plural:
        return "sind" if forms is BE else forms[0]
    return forms[1 + subject.person]
