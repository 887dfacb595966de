"""An example sentence in each of the common languages, for the web page.

All have the same meaning, in words that occur even in small training texts.
"""

SENTENCES = {
    "ar": "تحمل المرأة العجوز كلبًا صغيرًا.",
    "bg": "Старата жена носи малко куче.",
    "ca": "La dona vella porta un gos petit.",
    "cs": "Stará žena nese malého psa.",
    "da": "Den gamle kvinde bærer en lille hund.",
    "de": "Die alte Frau trägt einen kleinen Hund.",
    "el": "Η ηλικιωμένη γυναίκα κουβαλάει ένα μικρό σκυλί.",
    "en": "The old woman carries a small dog.",
    "es": "La anciana lleva un perro pequeño.",
    "et": "Vana naine kannab väikest koera.",
    "fa": "پیرزن سگ کوچکی را حمل می‌کند.",
    "fi": "Vanha nainen kantaa pientä koiraa.",
    "fr": "La vieille femme porte un petit chien.",
    "he": "האישה הזקנה נושאת כלב קטן.",
    "hi": "बूढ़ी औरत एक छोटा कुत्ता उठाए हुए है।",
    "hr": "Stara žena nosi malog psa.",
    "hu": "Az idős nő egy kis kutyát visz.",
    "id": "Wanita tua itu menggendong seekor anjing kecil.",
    "it": "La donna anziana porta un piccolo cane.",
    "ja": "年老いた女性が小さな犬を抱いている。",
    "ko": "할머니가 작은 개를 안고 있습니다.",
    "lt": "Sena moteris neša mažą šunį.",
    "lv": "Veca sieviete nes mazu suni.",
    "nb": "Den gamle kvinnen bærer en liten hund.",
    "nl": "De oude vrouw draagt een kleine hond.",
    "no": "Den gamle kvinnen bærer en liten hund.",
    "pl": "Stara kobieta niesie małego psa.",
    "pt": "A mulher idosa carrega um cão pequeno.",
    "ro": "Femeia bătrână duce un câine mic.",
    "ru": "Старая женщина несёт маленькую собаку.",
    "sk": "Stará žena nesie malého psa.",
    "sl": "Stara ženska nosi majhnega psa.",
    "sr": "Стара жена носи малог пса.",
    "sr-Latn": "Stara žena nosi malog psa.",
    "sv": "Den gamla kvinnan bär en liten hund.",
    "tr": "Yaşlı kadın küçük bir köpek taşıyor.",
    "uk": "Стара жінка несе маленького собаку.",
    "vi": "Bà cụ bế một con chó nhỏ.",
    "zh": "老太太抱着一只小狗。",
    "zh-Hans": "老太太抱着一只小狗。",
    "zh-Hant": "老太太抱著一隻小狗。",
    "zh-TW": "老太太抱著一隻小狗。",
}


def example_in(code):
    """Returns the sentence in a language, given its code, or None.

    A code with a region, such as "pt-BR", gets the sentence of the language unless it has its own.
    A code with a script gets only a sentence in that script.
    """
    language, *rest = code.split("-")
    with_script = "-".join([language, *(part for part in rest if len(part) == 4)])
    return SENTENCES.get(code) or SENTENCES.get(with_script)
