"""An example sentence in each of the common languages, for the web page.

All of them mean the same, in words that small models know too.
"""

SENTENCES = {
    "ar": "يرى الكلب العجوز البيت الأحمر.",
    "bg": "Старото куче вижда червената къща.",
    "ca": "El gos vell veu la casa vermella.",
    "cs": "Starý pes vidí červený dům.",
    "da": "Den gamle hund ser det røde hus.",
    "de": "Der alte Hund sieht das rote Haus.",
    "el": "Το γέρικο σκυλί βλέπει το κόκκινο σπίτι.",
    "en": "The old dog sees the red house.",
    "es": "El perro viejo ve la casa roja.",
    "et": "Vana koer näeb punast maja.",
    "fa": "سگ پیر خانهٔ قرمز را می‌بیند.",
    "fi": "Vanha koira näkee punaisen talon.",
    "fr": "Le vieux chien voit la maison rouge.",
    "he": "הכלב הזקן רואה את הבית האדום.",
    "hi": "बूढ़ा कुत्ता लाल घर को देखता है।",
    "hr": "Stari pas vidi crvenu kuću.",
    "hu": "Az öreg kutya látja a piros házat.",
    "id": "Anjing tua itu melihat rumah merah.",
    "it": "Il vecchio cane vede la casa rossa.",
    "ja": "年老いた犬が赤い家を見ている。",
    "ko": "늙은 개가 빨간 집을 봅니다.",
    "lt": "Senas šuo mato raudoną namą.",
    "lv": "Vecais suns redz sarkano māju.",
    "nb": "Den gamle hunden ser det røde huset.",
    "nl": "De oude hond ziet het rode huis.",
    "no": "Den gamle hunden ser det røde huset.",
    "pl": "Stary pies widzi czerwony dom.",
    "pt": "O cão velho vê a casa vermelha.",
    "ro": "Câinele bătrân vede casa roșie.",
    "ru": "Старая собака видит красный дом.",
    "sk": "Starý pes vidí červený dom.",
    "sl": "Stari pes vidi rdečo hišo.",
    "sr": "Стари пас види црвену кућу.",
    "sr-Latn": "Stari pas vidi crvenu kuću.",
    "sv": "Den gamla hunden ser det röda huset.",
    "tr": "Yaşlı köpek kırmızı evi görüyor.",
    "uk": "Старий собака бачить червоний будинок.",
    "vi": "Con chó già nhìn thấy ngôi nhà màu đỏ.",
    "zh": "那只老狗看见了红房子。",
    "zh-Hans": "那只老狗看见了红房子。",
    "zh-Hant": "那隻老狗看見了紅房子。",
    "zh-TW": "那隻老狗看見了紅房子。",
}


def example_in(code):
    """Returns the sentence in a language, given its code, or None.

    A code with a region, such as "pt-BR", gets the sentence of the language unless it has its own.
    A code with a script gets only a sentence in that script.
    """
    language, *rest = code.split("-")
    with_script = "-".join([language, *(part for part in rest if len(part) == 4)])
    return SENTENCES.get(code) or SENTENCES.get(with_script)
