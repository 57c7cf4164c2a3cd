"""Addresses of databases, and how to show them: without what nobody else should read."""

import os
import re
from urllib.parse import unquote

from groupwise.tables.errors import TableError

__all__ = ["check_address", "is_database", "passwords_in", "without_password"]

_SCHEME = re.compile(r"^\s*postgres(?:ql)?(?:\+\w+)?://", re.IGNORECASE)
# libpq's other form: host=db user=ann password='hunter 2'
_PAIRS = re.compile(
    r"^\s*(?:host|hostaddr|dbname|user|port|service|password|passfile|sslmode)\s*=", re.IGNORECASE
)
_USER_INFO = re.compile(r"(?P<before>[a-z][a-z0-9+.-]*://[^:/?#@\s]*):(?P<rest>.*)$", re.I | re.S)
_QUERY = re.compile(r"\?[\w%]+=")
_KEY = re.compile(r"(?P<key>[\w%]+)\s*=\s*")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'?")
_SECRET_KEY = re.compile(r"(?:password|passwd|passphrase|pass|pwd)$", re.IGNORECASE)
_HIDDEN = "***"


def is_database(source: str) -> bool:
    """Whether this is the address of a PostgreSQL database, as a URL or as ``key=value`` pairs.

    Examples
    --------
    >>> is_database("POSTGRESQL://db/shop"), is_database("host=db dbname=shop")
    (True, True)
    >>> is_database("shop.csv")
    False
    """
    return bool(_SCHEME.match(source) or _PAIRS.match(source))


def without_password(text: str) -> str:
    """An address, or a text with one in it, as it may be shown.

    Whatever could be a password is hidden, rather too much than too little.

    Examples
    --------
    >>> without_password("postgresql://ann:secret@db/shop")
    'postgresql://ann:***@db/shop'
    >>> without_password("postgresql://db/shop?user=ann&password=secret")
    'postgresql://db/shop?user=ann&password=***'
    >>> without_password("host=db user=ann password='a b'")
    'host=db user=ann password=***'
    """
    found = _USER_INFO.search(text)
    if found:
        end = _user_info_end(found["rest"])
        if end >= 0:
            shown = f"{found['before']}:{_HIDDEN}{found['rest'][end:]}"
            text = text[: found.start()] + shown
    for start, end in reversed(_secret_values(text)):
        text = text[:start] + _HIDDEN + text[end:]
    return text


def _secret_values(text: str) -> list[tuple[int, int]]:
    """Where the values of ``password=...`` and its like lie."""
    found: list[tuple[int, int]] = []
    for pair in _KEY.finditer(text):
        start = pair.end()
        if not _SECRET_KEY.search(unquote(pair["key"])) or (found and start < found[-1][1]):
            continue
        quoted = _QUOTED.match(text, start)
        # in a URL the next parameter begins with &; in pairs an & may be part of the value
        ends = r"[^\s&]*" if "://" in text[:start] else r"\S*"
        plain = re.compile(ends).match(text, start)
        span = quoted or plain
        if span is not None and span.end() > start:
            found.append((start, span.end()))
    return found


def _user_info_end(rest: str) -> int:
    """Where the password ends: the last ``@`` before the query, or of all."""
    query = _QUERY.search(rest)
    head = rest if query is None else rest[: query.start()]
    return head.rfind("@") if "@" in head else rest.rfind("@")


def passwords_in(source: str) -> list[str]:
    """What may not be seen of an address, and what libpq takes from the environment."""
    found = _USER_INFO.search(source)
    secrets = [] if found is None else [found["rest"][: max(_user_info_end(found["rest"]), 0)]]
    secrets += [source[start:end].strip("'") for start, end in _secret_values(source)]
    secrets.append(os.environ.get("PGPASSWORD", ""))
    both = {form for secret in secrets for form in (secret, unquote(secret)) if form}
    return sorted(both, key=len, reverse=True)


def check_address(source: str) -> str:
    """The address as libpq takes it.

    Raises
    ------
    TableError
        If it would be read in another way than it was meant, which is when parts of a password
        become the name of a host and stand in messages.
    """
    scheme = _SCHEME.match(source)
    if scheme is None:
        return source.strip()
    rest = source[scheme.end() :]
    found = _USER_INFO.search(source)
    password = "" if found is None else found["rest"][: max(_user_info_end(found["rest"]), 0)]
    if re.search(r"[@:/?#\[\]\s]|%(?![0-9a-fA-F]{2})", password):
        raise TableError(
            f"{without_password(source)}: the password holds one of @ : / ? # [ ] % or a space, "
            "which an address writes as %40 %3A %2F %3F %23 %5B %5D %25 %20"
        )
    return f"postgresql://{rest.strip()}"
