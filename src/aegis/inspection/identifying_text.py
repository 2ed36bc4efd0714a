"""Columns of texts that name somebody: by an address, a number with a check digit, a person's name.

Every kind is a pattern with a check where there is one (Luhn, modulo 97, ISO 7064), so that a column of plain numbers
is not taken for one of cards. The verdict is about a column, from a sample of its distinct values, which are looked at
and forgotten: no value leaves this module. Sentences that differ from row to row are free text, which may name anybody.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import ibis

from aegis.counts.answer import ask
from aegis.data.dataset import Dataset
from aegis.data.kind import Kind

_ENOUGH = 0.8
"""The share of a column's values that must have a form before the column is said to look like it."""
_ENOUGH_WITHIN = 0.05
"""The share of longer texts that must hold something before that is said of the column."""
_ADDRESSES_WITHIN = 2
"""So many longer texts with an e-mail address are enough: nothing else is written like that."""
_SENTENCE = 4
"""Words that make a text a sentence rather than a name of something."""
_OWN_TEXTS = 0.2
"""Where there are so many different sentences for each row, people wrote them."""
_FEWEST = 5
_ROWS = 20_000
_VALUES = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class LooksLike:
    """What the values of a column look like, the share that does, and a mask that hides most of it."""

    what: str
    share: float
    mask: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    what: str
    mask: str
    fits: Callable[[str], bool]
    enough: float = _ENOUGH


def texts_that_identify(dataset: Dataset, columns: Collection[str] | None = None) -> dict[str, LooksLike]:
    """The columns of texts and whole numbers whose values look like something that names people."""
    names = [
        column.name
        for column in dataset.schema
        if column.kind in (Kind.TEXT, Kind.INTEGER) and (columns is None or column.name in columns)
    ]
    if not names:
        return {}
    first = dataset.table.select(*names).limit(_ROWS)
    answer = ask(first.aggregate([first[name].count().name(f"n{number}") for number, name in enumerate(names)]))
    identifying = {}
    for number, name in enumerate(names):
        # Of distinct values in their order one of each of so many stretches: few cells leave an engine, the same ones
        # each time, and from everywhere. The first ones would be those that begin with the same letters.
        texts = first.select(text=first[name].cast("string")).distinct().drop_null()
        stretches = texts.mutate(stretch=ibis.ntile(_VALUES).over(order_by=texts["text"])).group_by("stretch")
        some = ask(stretches.aggregate(text=lambda table: table["text"].min(), values=lambda table: table.count()))
        seen = looks_like(
            some["text"].to_pylist(),
            distinct=sum(some["values"].to_pylist()),
            rows=int(answer[f"n{number}"][0].as_py()),
        )
        if seen is not None:
            identifying[name] = seen
    return identifying


def looks_like(values: Sequence[str], *, distinct: int = 0, rows: int = 0) -> LooksLike | None:
    """What these values look like, where they look like something that names people; None otherwise.

    They are some of the ``distinct`` values of so many ``rows``; without these numbers nothing is called free text.

    >>> looks_like(["ann@example.org", "bob@example.org", "cy@example.org", "di@example.org", "ed@example.org"]).what
    'e-mail addresses'
    >>> looks_like(["red", "green", "blue", "white", "black"]) is None
    True
    """
    texts = [value.strip() for value in values if value.strip()]
    if len(texts) < _FEWEST:
        return None
    for form in _FORMS:
        share = sum(map(form.fits, texts)) / len(texts)
        if share >= form.enough:
            return LooksLike(what=form.what, share=share, mask=form.mask)
    long = [text for text in texts if len(text) > 20 and " " in text]
    if len(long) >= max(_FEWEST, len(texts) // 2):
        for content, pattern in _WITHIN:
            holding = sum(pattern.search(text) is not None for text in long)
            sure = content == _ADDRESSES and holding >= _ADDRESSES_WITHIN
            if sure or holding >= _ENOUGH_WITHIN * len(long):
                return LooksLike(what=f"texts with {content}", share=holding / len(long), mask="suppress")
    sentences = sum(len(text.split()) >= _SENTENCE for text in texts)
    if 2 * sentences >= len(texts) and distinct >= max(_FEWEST, _OWN_TEXTS * rows) > 0:
        return LooksLike(what="free text, which may name anybody", share=sentences / len(texts), mask="suppress")
    return None


_EMAIL = r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}"
_URL = re.compile(r"(?:https?|ftp)://\S+|www\.\S+\.\S+", re.IGNORECASE)
_PHONE = re.compile(
    r"(?:\+|00)\d{1,3}[\s./-]*(?:\(0?\d{1,5}\)|\d)[\d\s./-]{4,16}\d|\(?0\d{1,5}\)?[\s./-]+\d[\d\s./-]{3,12}\d"
)
_US_PHONE = re.compile(r"(?:1[-. ])?\(?[2-9]\d{2}\)?[-. ][2-9]\d{2}[-. ]\d{4}")
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_ADDRESSES = "e-mail addresses"
_WITHIN = (
    (_ADDRESSES, re.compile(_EMAIL)),
    ("telephone numbers", _PHONE),
    ("bank accounts (IBAN)", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")),
    ("links", _URL),
)
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")


def digits_of(text: str) -> str:
    return re.sub(r"[\s.-]", "", text)


def luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of the others.

    >>> luhn("4111111111111111"), luhn("4111111111111112")
    (True, False)
    """
    total = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit) * (1 + place % 2)
        total += number - 9 * (number > 9)
    return total % 10 == 0


def is_iban(text: str) -> bool:
    """A bank account of any country, by its two check digits (ISO 13616).

    >>> is_iban("DE89 3704 0044 0532 0130 00"), is_iban("DE88 3704 0044 0532 0130 00")
    (True, False)
    """
    plain = re.sub(r"\s", "", text).upper()
    if not _IBAN.fullmatch(plain):
        return False
    return int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % 97 == 1


def is_card(text: str) -> bool:
    """A number of a payment card: 13 to 19 digits that begin as one does and pass Luhn's check."""
    plain = re.sub(r"[\s-]", "", text)
    return plain.isascii() and plain.isdigit() and 13 <= len(plain) <= 19 and plain[0] in "3456" and luhn(plain)


def is_ip_address(text: str) -> bool:
    """An address of a machine, of version 4 or 6."""
    if not ("." in text or ":" in text) or _DATE.fullmatch(text):
        return False
    try:
        ipaddress.ip_address(text.partition("/")[0])
    except ValueError:
        return False
    return True


def is_phone(text: str) -> bool:
    """A telephone number with a country's prefix, or one that is grouped as such numbers are."""
    if _DATE.fullmatch(text) or not 7 <= sum(letter.isdigit() for letter in text) <= 15:
        return False
    return _PHONE.fullmatch(text) is not None or _US_PHONE.fullmatch(text) is not None


def is_national_id(text: str) -> bool:
    """A number that a state gave a person, by the rule of its country: form and check digit."""
    return any(rule(text.strip()) for rule in _NATIONAL)


def _social_security(text: str) -> bool:
    match = re.fullmatch(r"(\d{3})-(\d{2})-(\d{4})", text)
    return match is not None and match[1] not in ("000", "666") and match[1] < "900" and match[2] != "00"


def _spanish(text: str) -> bool:
    match = re.fullmatch(r"([XYZ\d]\d{7})-?([A-Z])", text)
    if match is None:
        return False
    number = int(match[1].translate(str.maketrans("XYZ", "012")))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == match[2]


def _french(text: str) -> bool:
    plain = re.sub(r"\s", "", text)
    match = re.fullmatch(r"([12478]\d{4}(?:\d{2}|2[AB])\d{6})(\d{2})", plain)
    if match is None:
        return False
    number = match[1].replace("2A", "19").replace("2B", "18")
    return 97 - int(number) % 97 == int(match[2])


def _british(text: str) -> bool:
    plain = re.sub(r"\s", "", text)
    return re.fullmatch(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]", plain) is not None


def _italian(text: str) -> bool:
    plain = text.upper()
    if not re.fullmatch(r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]", plain):
        return False
    odd = dict(zip("0123456789", (1, 0, 5, 7, 9, 13, 15, 17, 19, 21), strict=True))
    odd |= dict(
        zip(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23),
            strict=True,
        )
    )
    total = 0
    for place, letter in enumerate(plain[:15]):
        total += odd[letter] if place % 2 == 0 else int(letter) if letter.isdigit() else ord(letter) - ord("A")
    return chr(ord("A") + total % 26) == plain[15]


def _swiss(text: str) -> bool:
    plain = digits_of(text)
    if not re.fullmatch(r"756\d{10}", plain) or text == plain:
        return False
    total = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(plain[:12]))
    return (10 - total % 10) % 10 == int(plain[12])


def _swedish(text: str) -> bool:
    match = re.fullmatch(r"(?:19|20)?(\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01]|[67]\d|[89][01]))[-+](\d{4})", text)
    return match is not None and luhn(match[1] + match[2])


def _german(text: str) -> bool:
    plain = re.sub(r"\s", "", text)
    if not re.fullmatch(r"[1-9]\d{10}", plain):
        return False
    product = 10
    for digit in plain[:10]:
        total = (int(digit) + product) % 10 or 10
        product = total * 2 % 11
    # Of the first ten digits one occurs twice or three times, and the others once at most.
    repeated = [plain[:10].count(digit) for digit in set(plain[:10])]
    return (11 - product) % 10 == int(plain[10]) and sorted(repeated)[-1] in (2, 3) and sorted(repeated)[-2] == 1


_NATIONAL = (_social_security, _spanish, _french, _british, _italian, _swiss, _swedish, _german)


def is_name(text: str) -> bool:
    """A person's name: two to four words in capitals, one of them a usual first name; or that name alone."""
    words = [word for word in re.split(r"[\s,]+", text) if word]
    if not 1 <= len(words) <= 4 or not all(
        re.fullmatch(r"[^\W\d_][^\W\d_'’.-]*(?:['’-][^\W\d_]+)*\.?", w) for w in words
    ):
        return False
    return all(word[0].isupper() for word in words) and any(word.casefold() in FIRST_NAMES for word in words)


_FORMS = (
    _Form(what=_ADDRESSES, mask="pseudonym", fits=lambda text: re.fullmatch(_EMAIL, text) is not None),
    _Form(what="links", mask="suppress", fits=lambda text: _URL.fullmatch(text) is not None),
    _Form(what="bank accounts (IBAN)", mask="pseudonym", fits=is_iban),
    _Form(what="payment cards", mask="pseudonym", fits=is_card, enough=0.95),
    _Form(what="addresses of machines (IP)", mask="pseudonym", fits=is_ip_address),
    _Form(what="national identity numbers", mask="pseudonym", fits=is_national_id),
    _Form(what="telephone numbers", mask="pseudonym", fits=is_phone),
    _Form(what="names of people", mask="pseudonym", fits=is_name, enough=0.5),
)
# Usual in several languages: enough to recognise a column of names, not to list everybody.
_USUAL = """
    aaron adam adrian agnes ahmed aisha alan albert alejandra alejandro alex alexander alexandra alfred ali alice
    alicia alina amanda amelia amina amy ana andrea andreas andrew angela angelika anita anja ann anna anne anneliese
    annette annika anthony antoine anton antonella antonia antonio arnaud arthur asha astrid aurelie ava axel barbara
    beatrice beatriz ben benedict benjamin bernard bernd bettina betty bianca birgit bjorn bob brandon brian brigitte
    bruno camille carla carlos carmen carol caroline catherine cecilia celine charles charlotte chen chiara chloe
    chris christa christian christina christine christoph christopher claire clara claude claudia clemens cornelia
    cristina cynthia daniel daniela david deborah denise dennis diana diego dieter dirk dmitri dominik donald donna
    dorothy douglas edith edward elena elisabeth elizabeth ella elsa emil emily emma enrique eric erica erik ernst
    esther ethan eugen eva evelyn fabian fatima federico felix fernando filip florence florian fran frances francesca
    francesco francisco frank franz fred freya frida friedrich gabriel gabriele gary georg george gerald gerd gerhard
    gertrud gisela giulia giuseppe gloria grace gregory greta guido gunther gustav hanna hannah hannelore hans harald
    harold harry hassan heather heidi heike heinrich heinz helen helena helga helmut henri henrik henry herbert
    hermann hugo ian ibrahim ida igor ilse ines inga ingrid irene isaac isabel isabella ivan jack jacob jacqueline
    jacques jakob james jan jana jane janet jasmin jason javier jean jeff jeffrey jennifer jens jeremy jessica jesus
    jim joan joanna joe joel johan johann johanna johannes john jonas jonathan jorge jose josef joseph joshua juan
    juana judith julia julian julie juliette jurgen justin kai karen karin karl karolina kate katharina katherine
    kathleen kathrin katja keith kenneth kevin khalid kim klaus kristin kurt kyle lara larry laura lauren laurent lea
    lena leo leon leonard leonie liam lilly lina linda lisa lorenzo louis louise luca lucas lucia lucy luis luisa
    lukas lydia madison magdalena manfred manuel manuela marc marcel marco marcus margaret margit maria mariam
    marianne marie marina mario marion mark markus marlene marta martha martin martina mary mateo mathilde matteo
    matthew matthias max maximilian maya megan mehmet mei melanie melissa mia michael michaela michel michelle miguel
    mike mila mohamed mohammed monica monika moritz muhammad nadia nadine nancy natalia natalie natasha nathan
    nicholas nick nicolas nicole nils nina noah nora norbert oleg oliver olivia omar oscar oskar pablo pamela paola
    pascal patricia patrick paul paula paulina pedro peggy peter petra philip philipp philippe pierre pietro priya
    rachel rainer ralf ralph raul raymond rebecca regina reinhard renate rene ricardo richard rita robert roberto
    robin roger roland rolf roman ronald rosa rosemary ruth ryan sabine sabrina sally samantha samuel sandra sara
    sarah scott sean sebastian sergei sergio sharon silke silvia simon simone sofia sonja sophia sophie stefan
    stefanie stephan stephanie stephen steven susan susanne sven svetlana sylvia tanja tara teresa theo theresa thomas
    tim timothy tina tobias tom tomas ulrich ulrike ursula uwe valentina vanessa vera veronica victor victoria viktor
    vincent virginia walter wei werner wilhelm william wolfgang xavier yasmin yuki yusuf yvonne zoe
"""
FIRST_NAMES = frozenset(_USUAL.split())
