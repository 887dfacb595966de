"""The vocabulary of the toy grammar: English and German words, and German inflectional endings."""

import re
from typing import NamedTuple


class Noun(NamedTuple):
    english: str
    english_plural: str
    german: str
    german_plural: str
    gender: str  # m, f or n


class Verb(NamedTuple):
    english: tuple  # see, sees, saw
    german: tuple  # plural or infinitive, I, you, he, participle
    auxiliary: str

    @classmethod
    def of(cls, see, sees, saw, we, i, you, he, participle, auxiliary="haben"):
        return cls((see, sees, saw), (we, i, you, he, participle), auxiliary)


def tables(make, text):
    """Parses rows of words, one list per paragraph. An underscore is a space within a word."""
    for paragraph in text.strip().split("\n\n"):
        rows = (row.split() for row in re.split(r"[|\n]", paragraph))
        yield [make(*(word.replace("_", " ") for word in row)) for row in rows]


PEOPLE, THINGS = tables(
    Noun,
    """
    man men Mann Männer m | woman women Frau Frauen f | child children Kind Kinder n
    girl girls Mädchen Mädchen n | teacher teachers Lehrer Lehrer m
    doctor doctors Ärztin Ärztinnen f | friend friends Freund Freunde m
    neighbour neighbours Nachbarin Nachbarinnen f | sister sisters Schwester Schwestern f
    brother brothers Bruder Brüder m | dog dogs Hund Hunde m | cat cats Katze Katzen f
    horse horses Pferd Pferde n | bird birds Vogel Vögel m | mouse mice Maus Mäuse f

    book books Buch Bücher n | apple apples Apfel Äpfel m | flower flowers Blume Blumen f
    letter letters Brief Briefe m | picture pictures Bild Bilder n | lamp lamps Lampe Lampen f
    key keys Schlüssel Schlüssel m | bag bags Tasche Taschen f | cup cups Tasse Tassen f
    chair chairs Stuhl Stühle m | newspaper newspapers Zeitung Zeitungen f
    gift gifts Geschenk Geschenke n | umbrella umbrellas Regenschirm Regenschirme m
    shirt shirts Hemd Hemden n | car cars Auto Autos n
    """,
)
INTRANSITIVE, WITH_PERSON, WITH_THING, WITH_DATIVE, WITH_BOTH, WITH_CLAUSE = tables(
    Verb.of,
    """
    sleep sleeps slept schlafen schlafe schläfst schläft geschlafen
    laugh laughs laughed lachen lache lachst lacht gelacht
    sing sings sang singen singe singst singt gesungen
    work works worked arbeiten arbeite arbeitest arbeitet gearbeitet
    dance dances danced tanzen tanze tanzt tanzt getanzt
    wait waits waited warten warte wartest wartet gewartet
    come comes came kommen komme kommst kommt gekommen sein
    run runs ran rennen renne rennst rennt gerannt sein

    see sees saw sehen sehe siehst sieht gesehen
    love loves loved lieben liebe liebst liebt geliebt
    look_for looks_for looked_for suchen suche suchst sucht gesucht
    hear hears heard hören höre hörst hört gehört
    know knows knew kennen kenne kennst kennt gekannt
    visit visits visited besuchen besuche besuchst besucht besucht

    find finds found finden finde findest findet gefunden
    buy buys bought kaufen kaufe kaufst kauft gekauft
    need needs needed brauchen brauche brauchst braucht gebraucht
    draw draws drew zeichnen zeichne zeichnest zeichnet gezeichnet
    carry carries carried tragen trage trägst trägt getragen
    forget forgets forgot vergessen vergesse vergisst vergisst vergessen

    help helps helped helfen helfe hilfst hilft geholfen
    thank thanks thanked danken danke dankst dankt gedankt
    answer answers answered antworten antworte antwortest antwortet geantwortet
    follow follows followed folgen folge folgst folgt gefolgt sein

    give gives gave geben gebe gibst gibt gegeben
    show shows showed zeigen zeige zeigst zeigt gezeigt
    bring brings brought bringen bringe bringst bringt gebracht
    send sends sent schicken schicke schickst schickt geschickt

    know knows knew wissen weiß weißt weiß gewusst
    believe believes believed glauben glaube glaubst glaubt geglaubt
    say says said sagen sage sagst sagt gesagt | hope hopes hoped hoffen hoffe hoffst hofft gehofft
    """,
)
# Frames of clauses: verbs, whether they have a dative object, and nouns of their accusative object.
FRAMES = [
    (INTRANSITIVE, False, None),
    (WITH_PERSON, False, PEOPLE),
    (WITH_THING, False, THINGS),
    (WITH_THING, False, THINGS),
    (WITH_DATIVE, True, None),
    (WITH_BOTH, True, THINGS),
]
STATES = ("kennen", "lieben", "brauchen", "vergessen")  # verbs used without a modal verb or a time
AUXILIARIES = {"haben": ("haben", "habe", "hast", "hat"), "sein": ("sind", "bin", "bist", "ist")}
# English: singular and plural, he; German: plural, I, you, he.
MODALS = [
    (("can", "can"), ("können", "kann", "kannst", "kann")),
    (("must", "must"), ("müssen", "muss", "musst", "muss")),
    (("should", "should"), ("sollen", "soll", "sollst", "soll")),
    (("want to", "wants to"), ("wollen", "will", "willst", "will")),
]
ADJECTIVES = {
    **{"small": "klein", "big": "groß", "old": "alt", "beautiful": "schön", "new": "neu"},
    **{"red": "rot", "good": "gut", "expensive": "teur"},
}
UNINFLECTED = {**ADJECTIVES, "expensive": "teuer"}
OF_PEOPLE = ("small", "big", "old", "beautiful", "good")
# English pronoun, German pronoun, person (0: I, 1: you, 2: he, she, it), plural.
PRONOUNS = [
    *[("I", "ich", 0, False), ("you", "du", 1, False), ("he", "er", 2, False)],
    *[("she", "sie", 2, False), ("we", "wir", 2, True), ("they", "sie", 2, True)],
]
PLACES = {
    "in the garden": "im Garten",
    "in the kitchen": "in der Küche",
    "in the city": "in der Stadt",
    "at school": "in der Schule",
    "on the beach": "am Strand",
    "at the market": "auf dem Markt",
}
TIMES = {
    "present": {"today": "heute", "now": "jetzt", "every day": "jeden Tag"},
    "past": {"yesterday": "gestern", "last week": "letzte Woche"},
    "modal": {"today": "heute", "tomorrow": "morgen"},
}
CONJUNCTIONS = {"because": "weil", "when": "wenn", "if": "wenn", "although": "obwohl"}


def forms(*rows):
    """Returns {case: {gender, or "p" for plural: form or ending}}. A hyphen is an empty ending."""
    cases = zip(("nominative", "accusative", "dative"), rows, strict=False)
    return {
        case: dict(zip("mfnp", row.replace("-", "").split(" "), strict=False))
        for case, row in cases
    }


DER = forms("der die das die", "den die das die", "dem der dem den")
IT = forms("er sie es", "ihn sie es")
DIESER = forms("er e es e", "en e es e", "em er em en")
EIN = forms("- e - e", "en e - e", "em er em en")
# Adjective endings: weak after "der" and "dieser", mixed after "ein" and "mein", strong in plurals
# without a determiner.
WEAK = forms("e e e en", "en e e en", "en en en en")
MIXED = forms("er e es en", "en e es en", "en en en en")
STRONG = forms("- - - e", "- - - e", "- - - en")
# {English determiner: its stem and endings in German, and the endings of adjectives after it}
DETERMINERS = {
    "the": ("", DER, WEAK),
    "a": ("ein", EIN, MIXED),
    "this": ("dies", DIESER, WEAK),
    "my": ("mein", EIN, MIXED),
    "your": ("dein", EIN, MIXED),
    "our": ("unser", EIN, MIXED),
}
