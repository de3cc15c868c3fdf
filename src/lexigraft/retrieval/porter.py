"""Porter's stemmer (M. F. Porter, An algorithm for suffix stripping, 1980).

The stemmer behind the BM25 rows of BEIR (Lucene's English analyser). Rules stand in the order and
the notation of the paper: m is the measure, the number of vowel-consonant sequences of a stem.
"""

import re
from functools import lru_cache

_VOWELS = "aeiou"

STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "abli": "able",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
}
STEP_3 = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
STEP_4 = (
    "al",
    "ance",
    "ence",
    "er",
    "ic",
    "able",
    "ible",
    "ant",
    "ement",
    "ment",
    "ent",
    "ion",
    "ou",
    "ism",
    "ate",
    "iti",
    "ous",
    "ive",
    "ize",
)


@lru_cache(maxsize=1 << 18)
def stem(word: str) -> str:
    """Stem of a lower-case word; words of one or two letters stay as they are."""
    if len(word) <= 2:
        return word
    word = _step_1a(word)
    word = _step_1b(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, STEP_2)
    word = _replace(word, STEP_3)
    word = _step_4(word)
    return _step_5(word)


def _form(stem_: str) -> str:
    """Its letters as v and c: y is a consonant at the start and after a vowel."""
    form = ""
    for letter in stem_:
        vowel = letter in _VOWELS or (letter == "y" and form.endswith("c"))
        form += "v" if vowel else "c"
    return form


def _measure(stem_: str) -> int:
    return len(re.findall("v+c+", _form(stem_)))


def _has_vowel(stem_: str) -> bool:
    return "v" in _form(stem_)


def _double_consonant(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _form(word)[-1] == "c"


def _ends_cvc(word: str) -> bool:
    """*o: consonant, vowel, consonant other than w, x and y."""
    return _form(word).endswith("cvc") and word[-1] not in "wxy"


def _step_1a(word: str) -> str:
    if word.endswith("sses") or word.endswith("ies"):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _step_1b(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        if word.endswith(ending):
            rest = word[: -len(ending)]
            if not _has_vowel(rest):
                return word
            if rest.endswith(("at", "bl", "iz")):
                return rest + "e"
            if _double_consonant(rest) and rest[-1] not in "lsz":
                return rest[:-1]
            return rest + "e" if _measure(rest) == 1 and _ends_cvc(rest) else rest
    return word


def _replace(word: str, endings: dict[str, str]) -> str:
    """The longest ending that fits is replaced if m > 0 before it."""
    fitting = [ending for ending in endings if word.endswith(ending)]
    if not fitting:
        return word
    ending = max(fitting, key=len)
    rest = word[: -len(ending)]
    return rest + endings[ending] if _measure(rest) > 0 else word


def _step_4(word: str) -> str:
    fitting = [ending for ending in STEP_4 if word.endswith(ending)]
    if not fitting:
        return word
    ending = max(fitting, key=len)
    rest = word[: -len(ending)]
    if _measure(rest) <= 1 or (ending == "ion" and not rest.endswith(("s", "t"))):
        return word
    return rest


def _step_5(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        if _measure(rest) > 1 or (_measure(rest) == 1 and not _ends_cvc(rest)):
            word = rest
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word
