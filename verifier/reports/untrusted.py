"""Text that came from a submission, made safe for each medium it is shown in.

A name, an exception or a line of output may hold markup, links, formulas or control characters. Whatever it holds, it
is shown as the characters that it is. Control characters are escapes already in what a :class:`Report` holds; here they
are made so again, so that no caller has to know.
"""

from __future__ import annotations

import html
import re

from posvec.schemas.errors import printable
from posvec.schemas.report import TEXT_LIMIT, safe_text

# The wide forms too, which some spreadsheets read as the plain ones.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_CODE = re.compile(r"`([^`\n]+)`")
_CODE_REFERENCES = re.compile(r"&#96;((?:(?!&#96;).)+)&#96;")
_MARKUP = frozenset("!\"#$%&'()*+-./:;<=>?@[\\]^_`{|}~")


def html_text(text: str, *, limit: int = TEXT_LIMIT) -> str:
    """Return ``text`` for the content or a quoted attribute of HTML."""
    return html.escape(safe_text(text, limit=limit), quote=True)


def html_prose(text: str, *, limit: int = TEXT_LIMIT) -> str:
    """Return ``text`` for the content of HTML, with what stands between backticks as code."""
    return _CODE.sub(r"<code>\1</code>", html_text(text, limit=limit))


def markdown_text(text: str, *, limit: int = TEXT_LIMIT) -> str:
    """Return ``text`` for a line or table cell of Markdown: all punctuation as references, which are never markup."""
    return "".join(f"&#{ord(c)};" if c in _MARKUP else c for c in " ".join(safe_text(text, limit=limit).split()))


def markdown_prose(text: str, *, limit: int = TEXT_LIMIT) -> str:
    """Return ``text`` for a line or table cell of Markdown, with what stands between backticks as code."""
    return _CODE_REFERENCES.sub(r"<code>\1</code>", markdown_text(text, limit=limit))


def markdown_block(text: str, *, limit: int = TEXT_LIMIT) -> str:
    """Return ``text`` as a preformatted block of Markdown.

    As HTML, whose text holds punctuation as references, it stays text even where a fence would be closed or is not
    known; blank lines in it end nothing.
    """
    shown = safe_text(text, limit=limit).rstrip()
    return f"<pre>{''.join(f'&#{ord(c)};' if c in _MARKUP else c for c in shown)}</pre>"


def csv_cell(text: str, *, limit: int = TEXT_LIMIT) -> str:
    """Return ``text`` for a CSV cell; an apostrophe keeps a spreadsheet from taking it for a formula.

    See https://owasp.org/www-community/attacks/CSV_Injection.
    """
    shown = printable(safe_text(text, limit=limit), keep="\n")
    return f"'{shown}" if shown.lstrip(" ").startswith(_FORMULA) else shown


def xml_text(text: str, *, limit: int = TEXT_LIMIT) -> str:
    """Return ``text`` with what XML 1.0 cannot hold as escapes; the library that writes it escapes markup."""
    return safe_text(text, limit=limit)
