"""How numbers are printed, the same in every form of a table."""

from lexigraft.specs.columns import Column

MISSING = "–"


def number(value: float | None, column: Column) -> str:
    """A value with the decimals of its column."""
    return MISSING if value is None else f"{value:.{column.decimals}f}"


def reported(value: float | None) -> str:
    """A reported value with the decimals that its source prints (13.0 in one, 9.56 in another)."""
    return MISSING if value is None else str(float(value))


def count(value: int | None) -> str:
    """A number of things."""
    return MISSING if value is None else str(value)


def p_value(value: float | None) -> str:
    """Three decimals, or that it is less."""
    if value is None:
        return MISSING
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def spread(deviation: float | None, column: Column) -> str:
    """A standard deviation: one decimal, two below 0.1, as in the paper's table 2; the decimals of
    its column where these are more."""
    if deviation is None:
        return ""
    if column.decimals > 2:
        return f"{deviation:.{column.decimals}f}"
    return f"{deviation:.2f}" if deviation < 0.1 else f"{deviation:.1f}"


def signed(difference: float | None, column: Column) -> str:
    """A difference with its sign, a true minus; a difference that rounds to zero has none."""
    if difference is None:
        return MISSING
    text = f"{abs(difference):.{column.decimals}f}"
    if float(text) == 0:
        return text
    return f"{'+' if difference > 0 else '−'}{text}"


def source_name(source: object) -> str:
    """`Vocabulary Transfer, table 2` of an experiment's or a claim's source."""
    assert hasattr(source, "get")
    document = str(source.get("document", "")).replace("-", " ")
    document = document[:1].upper() + document[1:]
    parts = [
        f"{key} {source.get(key)}" for key in ("table", "figure", "section") if source.get(key)
    ]
    return ", ".join([document, *parts])
