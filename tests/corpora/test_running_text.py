import pytest

from lexigraft.corpora.running_text import is_markup, running_words

NUMPY = """\
Two words here.

Parameters
----------
x : array_like
    A long description that says many things.

Notes
-----
Three more words.

>>> compute(x)
array of output

References
----------
.. [1] Somebody, "A title that does not count".
"""
GOOGLE = """\
Two words.

Args:
    x (`int`): Described at length
        over two lines.
Returns:
    Something long.

And three more.

Example::

    code that goes on
"""
SPHINX = """\
Two words.

:param x: described at length
    over two lines
:return: something
@param y: Epydoc's style

.. code-block:: python

    code of words
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [(NUMPY, 3 + 3), (GOOGLE, 2 + 3 + 1), (SPHINX, 2), ("", 0), ("a 1 x2y", 0)],
)
def test_lists_code_and_markup_do_not_count(body: str, expected: int) -> None:
    assert running_words(body) == expected


def test_a_paragraph_that_starts_a_list_or_code_says_nothing() -> None:
    assert is_markup("Parameters\n----------\nx : int")
    assert is_markup("Args:\n    x: int")
    assert is_markup(":param x: the x")
    assert is_markup(">>> f(1)")
    assert not is_markup("Return the parameters.")
