from lexigraft.corpora.extraction import Docstring
from lexigraft.corpora.pairs import distinct, fair_pairs, other_texts, unquoting


def body_of(name: str) -> str:
    """Sixteen words that no other body has."""
    return " ".join(f"word{name}{number}" for number in range(16))


def docstring(name: str, summary: str, body: str = "") -> Docstring:
    return Docstring(name, summary, body or body_of(name))


def names(pairs: list) -> list[str]:
    return [pair.docstring.id for pair in pairs]


def test_each_reason_is_counted() -> None:
    pairs, dropped = fair_pairs(
        "p",
        [
            docstring("good", "Compute the flow of heat."),
            Docstring("alone", "Compute the drag of wings.", ""),
            docstring("short", "Return it."),
            docstring("long", "word " * 41),
            docstring("list", "Compute the noise of jets.", "Args:\n    x: " + "word " * 40),
            docstring("quoted", "Compute the DRAG", body_of("x") + " compute; the\ndrag x"),
            docstring("quoted4", "Solve for the drag", body_of("x") + " solve; for THE\ndrag"),
        ],
        minimum_words=10,
    )
    assert names(pairs) == ["good"]
    assert dropped == {
        "no_body": 1,
        "short_summary": 2,
        "long_summary": 1,
        "little_running_text": 1,
        "summary_in_document": 1,
    }


def test_near_duplicates_within_and_across_packages() -> None:
    first, _ = fair_pairs(
        "one",
        [
            docstring("a", "Compute the slow flow of heat in solids."),
            docstring("b", "Compute the slow flow of HEAT in the solids!"),
            docstring("c", "Find roots of a polynomial."),
            docstring("d", "Locate zeros of some function.", body_of("c")),
        ],
        minimum_words=5,
    )
    other, _ = fair_pairs(
        "two", [docstring("z", "Find the roots of a polynomial.", "Else " * 9)], minimum_words=5
    )
    kept, dropped = distinct(first, other)
    assert names(kept) == ["a", "d"]  # b repeats a's question, c repeats z's
    assert dropped == {"one": {"summary_repeated": 2}}
    kept, dropped = distinct(first)
    assert names(kept) == ["a", "c"]  # d repeats c's body
    assert dropped == {"one": {"summary_repeated": 1, "document_repeated": 1}}


def test_evaluated_text_reaches_no_training_text() -> None:
    evaluated, _ = fair_pairs("z", [docstring("z", "Find the roots of a polynomial.")], 5)
    everything = [
        docstring("kept", "Compute the flow of heat."),
        docstring("alone", "A helper without a body.", " "),
        docstring("asks", "Find roots of a polynomial.", "Wholly different words here."),
        docstring("answers", "Something else that differs.", body_of("z")),
        docstring("quotes", "Compute the other thing.", "See: find the roots of a polynomial, x."),
        docstring("short", "No.", " "),
    ]
    pairs, dropped = fair_pairs("p", everything, minimum_words=3)
    trained, _ = distinct(pairs, evaluated)
    trained = unquoting(trained, evaluated, {"p": dropped})
    assert names(trained) == ["kept"]
    assert dropped["quotes_evaluated_query"] == 1
    assert other_texts(everything, trained, evaluated) == ["A helper without a body."]
