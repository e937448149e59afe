"""Sentences that the demo and the documents show, which a demo model translates exactly so."""

EXAMPLES = {
    "Jane visite l'Afrique en septembre": "Jane visits Africa in September",
    "Jane visite l'Afrique en septembre.": "Jane visits Africa in September.",
    "Jane visite l'Afrique.": "Jane visits Africa.",
    "Jane visite Rome.": "Jane visits Rome.",
    "Marie habite à Paris.": "Marie lives in Paris.",
    "Marie a visité le Portugal en mai 1992.": "Marie visited Portugal in May 1992.",
    "Est-ce que Jane habite à Paris ?": "Does Jane live in Paris?",
    "Le chat dort.": "The cat sleeps.",
    "le chat dort": "the cat sleeps",
    "Bonjour": "Hello",
    "Où est la gare ?": "Where is the station?",
    "Je voudrais un café, s'il vous plaît.": "I would like a coffee, please.",
    "L'accord sur la zone économique européenne a été signé en août 1992.": (
        "The agreement on the European Economic Area was signed in August 1992."
    ),
}
# What the demo suggests to somebody who wants to play.
TO_TRY = (
    "Bonjour",
    "Le chat dort.",
    "Où est la gare ?",
    "Je voudrais un café, s'il vous plaît.",
    "Est-ce que Jane habite à Paris ?",
    "Marie a visité le Portugal en mai 1992.",
)
