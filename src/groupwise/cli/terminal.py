"""Text that a terminal may be shown."""

import unicodedata

__all__ = ["visible"]

# Cc: control characters, escape sequences begin with one. Cf: marks that turn the direction of
# what follows, or cannot be seen. Cs: bytes of a path that are no text. Zl, Zp: end a line.
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def visible(text: str) -> str:
    r"""The text with what a terminal would obey, or not show, written out; line ends stay.

    Examples
    --------
    >>> visible("a\x1b]0;title\x07b")
    'a\\x1b]0;title\\x07b'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if _is_plain(character) else _written(character) for character in text)


def _is_plain(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in _HIDDEN


def _written(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
