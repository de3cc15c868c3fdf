"""Porter's stemmer on the examples of his paper, step by step through the whole algorithm."""

import pytest

from lexigraft.retrieval.porter import stem

# Word and stem after all steps, as Porter's own reference implementation gives them.
EXAMPLES = """
caresses caress|ponies poni|ties ti|caress caress|cats cat|feed feed|agreed agre|plastered plaster
bled bled|motoring motor|sing sing|conflated conflat|troubled troubl|sized size|hopping hop
tanned tan|falling fall|hissing hiss|fizzed fizz|failing fail|filing file|happy happi|sky sky
relational relat|conditional condit|rational ration|valenci valenc|hesitanci hesit|digitizer digit
conformabli conform|radicalli radic|differentli differ|vileli vile|analogousli analog
vietnamization vietnam|predication predic|operator oper|feudalism feudal|decisiveness decis
hopefulness hope|callousness callous|formaliti formal|sensitiviti sensit|sensibiliti sensibl
triplicate triplic|formative form|formalize formal|electriciti electr|electrical electr
hopeful hope|goodness good|revival reviv|allowance allow|inference infer|airliner airlin
gyroscopic gyroscop|adjustable adjust|defensible defens|irritant irrit|replacement replac
adjustment adjust|dependent depend|adoption adopt|homologou homolog|communism commun
activate activ|angulariti angular|homologous homolog|effective effect|bowdlerize bowdler
probate probat|rate rate|cease ceas|controll control|roll roll|generalizations gener
oscillators oscil|by by|as as|toy toi|say sai|crying cry|yes ye
"""
PAIRS = [pair.split() for line in EXAMPLES.split("\n") for pair in line.split("|") if pair]


@pytest.mark.parametrize(("word", "expected"), PAIRS)
def test_examples(word: str, expected: str) -> None:
    assert stem(word) == expected
