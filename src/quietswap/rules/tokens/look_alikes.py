"""Texts that a reader takes for another one: `USDС` with a Cyrillic letter, `ＵＳＤＣ`, `U S D C`.

Unicode's own table of such characters
(https://www.unicode.org/reports/tr39/#Confusable_Detection) is not in the standard library. What
the library knows comes first: compatibility forms, letter case, marks, the names of Latin
letters and the values of digits. The table below has the letters of other scripts that look like
Latin ones. Any further character may stand for every letter.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_SCRIPTS = (  # letters, and the Latin ones that they look like
    # Cyrillic
    (
        "аАвВсСеЕнНіІјЈкКӏӀмМоОрРѕЅтТуУхХһҺԁԀԛԚԝԜԍԌгпяЯз",
        "aabbcceehhiijjkkllmmooppssttyyxxhhddqqwwggrnrr3",
    ),
    # Greek
    ("αΑβΒϲϹεΕηΗιΙκΚΜνΝοΟρΡτΤυΥχΧζΖωγ", "aabbcceenhiikkmvnooppttuyxxzzwy"),
    # Armenian, Coptic, Cherokee, Lisu
    ("օՕսՍոՈհցՏԼՅ", "oouunnhgslj"),
    ("ⲀⲂⲤⲈⲎⲒⲔⲘⲚⲞⲢⲦⲨⲬ", "abcehikmnoptyx"),
    ("ᎪᏴᏟᎠᎬᎰᏀᎻᎥᎫᏦᏞᎷᏢᏒᏚᎢᏙᎳᎩᏃᏎᏏ", "abcdefghijklmprstvwyz4b"),
    ("ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ", "abcdefghijklmnoprstuvwxyz"),
)
_LOOKS_LIKE = {ord(c): to for of, to_all in _SCRIPTS for c, to in zip(of, to_all, strict=True)}
_LATIN = re.compile(r"\b(?:LATIN|SYMBOL)\b.*\bLETTER (?:SMALL CAPITAL )?([A-Z])(?: WITH\b.*)?$")
_ALIKE = str.maketrans("01i|", "olll")
_ANYTHING = "�"
_MARKS = frozenset({"Mn", "Me", "Cf", "Zs"})


def skeleton(text: str) -> str:
    """Return small letters and digits that stand for all texts that look like this one.

    U+FFFD stands for a character that may look like any letter.
    """
    forms = text.translate(_LOOKS_LIKE)  # first: `Ϲ` is a sigma by its compatibility form
    forms = unicodedata.normalize("NFKD", forms).translate(_LOOKS_LIKE)
    forms = unicodedata.normalize("NFKD", forms.casefold()).translate(_LOOKS_LIKE)
    letters = "".join(map(_letter, forms)).translate(_ALIKE)
    return "".join(c for c in letters if c.isalnum() or c == _ANYTHING)


@lru_cache(maxsize=4096)
def _letter(char: str) -> str:
    """Return what a character looks like in ASCII, "" for nothing."""
    if char.isascii():
        return char
    if unicodedata.category(char) in _MARKS:
        return ""
    digit = unicodedata.digit(char, None)
    if digit is not None:
        return str(digit)
    latin = _LATIN.search(unicodedata.name(char, ""))
    return latin[1].lower() if latin else _ANYTHING


class LookAlikes:
    """Finds texts that look like one of `texts`."""

    def __init__(self, texts: Iterable[str]) -> None:
        distinct = set(texts)
        self._equal = {_folded(text) for text in distinct}
        skeletons = map(skeleton, distinct)
        self._skeletons = {one for one in skeletons if one and _ANYTHING not in one}

    def has(self, text: str) -> bool:
        """Return whether a reader takes the text for one of them."""
        shape = skeleton(text)
        if shape in self._skeletons or _folded(text) in self._equal:
            return True
        if _ANYTHING not in shape or not shape.strip(_ANYTHING):
            return False  # a word in another script is no imitation of each word of its length
        pattern = re.compile(shape.replace(_ANYTHING, "."))
        return any(pattern.fullmatch(one) for one in self._skeletons)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
