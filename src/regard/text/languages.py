"""Language codes (ISO 639) and the English names of languages."""

_TABLE = """
aa Afar|ab Abkhazian|af Afrikaans|ak Akan|am Amharic|an Aragonese|ar Arabic|as Assamese|av Avaric
ay Aymara|az Azerbaijani|ba Bashkir|be Belarusian|bg Bulgarian|bi Bislama|bm Bambara|bn Bengali
bo Tibetan|br Breton|bs Bosnian|ca Catalan|ce Chechen|ceb Cebuano|co Corsican|cs Czech|cv Chuvash
cy Welsh|da Danish|de German|dv Divehi|dz Dzongkha|ee Ewe|el Greek|en English|eo Esperanto
es Spanish|et Estonian|eu Basque|fa Persian|ff Fulah|fi Finnish|fil Filipino|fj Fijian|fo Faroese
fr French|fy Western Frisian|ga Irish|gd Scottish Gaelic|gl Galician|gn Guarani|gu Gujarati
gv Manx|ha Hausa|haw Hawaiian|he Hebrew|hi Hindi|hmn Hmong|hr Croatian|hsb Upper Sorbian
ht Haitian|hu Hungarian|hy Armenian|ia Interlingua|id Indonesian|ig Igbo|is Icelandic|it Italian
iu Inuktitut|ja Japanese|jv Javanese|ka Georgian|kab Kabyle|kk Kazakh|kl Kalaallisut|km Khmer
kn Kannada|ko Korean|ks Kashmiri|ku Kurdish|kw Cornish|ky Kyrgyz|la Latin|lb Luxembourgish
lg Ganda|li Limburgish|ln Lingala|lo Lao|lt Lithuanian|lv Latvian|mg Malagasy|mi Maori
mk Macedonian|ml Malayalam|mn Mongolian|mr Marathi|ms Malay|mt Maltese|my Burmese
nb Norwegian Bokmål|nds Low German|ne Nepali|nl Dutch|nn Norwegian Nynorsk|no Norwegian
nso Northern Sotho|ny Chichewa|oc Occitan|om Oromo|or Odia|os Ossetian|pa Punjabi|pl Polish
ps Pashto|pt Portuguese|qu Quechua|rm Romansh|rn Rundi|ro Romanian|ru Russian|rw Kinyarwanda
sa Sanskrit|sc Sardinian|sd Sindhi|se Northern Sami|sg Sango|si Sinhala|sk Slovak|sl Slovenian
sm Samoan|sn Shona|so Somali|sq Albanian|sr Serbian|ss Swati|st Southern Sotho|su Sundanese
sv Swedish|sw Swahili|ta Tamil|te Telugu|tg Tajik|th Thai|ti Tigrinya|tk Turkmen|tl Tagalog
tn Tswana|to Tongan|tr Turkish|ts Tsonga|tt Tatar|tw Twi|ty Tahitian|ug Uyghur|uk Ukrainian
ur Urdu|uz Uzbek|ve Venda|vi Vietnamese|vo Volapük|wa Walloon|wo Wolof|xh Xhosa|yi Yiddish
yo Yoruba|yue Cantonese|za Zhuang|zh Chinese|zu Zulu
"""
NAMES: dict[str, str] = {}
for _entry in _TABLE.replace("\n", "|").strip("|").split("|"):
    _code, _, _name = _entry.partition(" ")
    NAMES[_code] = _name

# What languages call themselves, as the columns of tables may be called.
OWN_NAMES = {
    "العربية": "ar",
    "čeština": "cs",
    "dansk": "da",
    "deutsch": "de",
    "ελληνικά": "el",
    "español": "es",
    "suomi": "fi",
    "français": "fr",
    "עברית": "he",
    "हिन्दी": "hi",
    "magyar": "hu",
    "italiano": "it",
    "日本語": "ja",
    "한국어": "ko",
    "nederlands": "nl",
    "norsk": "no",
    "polski": "pl",
    "português": "pt",
    "română": "ro",
    "русский": "ru",
    "svenska": "sv",
    "türkçe": "tr",
    "українська": "uk",
    "tiếng việt": "vi",
    "中文": "zh",
}

# Languages that are written without spaces between sentences.
UNSPACED = frozenset({"zh", "ja", "yue", "th", "lo", "km", "my"})


def base_code(code: str) -> str:
    """The code without a country or a script: pt for pt-BR."""
    return code.replace("_", "-").split("-")[0].lower()


def language_name(code: str) -> str:
    """The name of a code: German for de, Portuguese (BR) for pt-br. An unknown code is its own
    name.
    """
    known = NAMES.get(base_code(code), code)
    _, dash, region = code.replace("_", "-").partition("-")
    return f"{known} ({region.upper()})" if dash and known != code else known
