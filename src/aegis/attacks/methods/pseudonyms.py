"""Guess what is behind pseudonyms: a hash without a key is undone by hashing every value that it could be of."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable, Iterable

import numpy as np

from aegis.attacks.attack import Claims, NotApplicable, attack
from aegis.attacks.scene import HeldRelease, Scene
from aegis.data.domain import show

_LOOKS_HASHED = re.compile(r"^[0-9a-fA-F]{8,128}$")
_HASHES: dict[str, Callable[[bytes], str]] = {
    "md5": lambda text: hashlib.md5(text, usedforsecurity=False).hexdigest(),
    "sha1": lambda text: hashlib.sha1(text, usedforsecurity=False).hexdigest(),
    "sha256": lambda text: hashlib.sha256(text).hexdigest(),
    "sha512": lambda text: hashlib.sha512(text).hexdigest(),
    "blake2b": lambda text: hashlib.blake2b(text).hexdigest(),
    "crc32": lambda text: f"{zlib.crc32(text):08x}",
}
MOST_GUESSES = 2_000_000


@attack(
    "pseudonyms",
    knows="a list of the values that may be behind pseudonyms (names, numbers), and the common hash functions",
)
def pseudonyms(scene: Scene) -> Claims | NotApplicable:
    """Claims the value behind each pseudonym that a common hash of a plausible value gives."""
    columns = hashed_columns(scene.release)
    if not columns:
        return NotApplicable(reason="no column looks like hashes")
    people, view = scene.truth, scene.release.view
    owners: dict[str, list[int]] = {}
    for name, domain in people.domains.items():
        if len(owners) > MOST_GUESSES:
            break
        first = np.full(domain.size, -1, dtype=np.int64)
        first[people.codes[name]] = np.arange(people.count)
        if domain.size * 2 > people.count:  # a value that nearly names a person
            for value, person in zip(domain.values.tolist(), first.tolist(), strict=False):
                owners.setdefault(show(value), []).append(person)
    claimed = np.full(view.rows, -1, dtype=np.int64)
    for name in columns:
        texts, codes = scene.release.texts[name]
        undone = undo((text for text in texts if text), owners)
        behind = np.array([undone.get(text or "", -1) for text in texts], dtype=np.int64)
        claimed = np.where(claimed >= 0, claimed, behind[codes])
    rows = np.flatnonzero(claimed >= 0)
    return Claims.of_rows(scene, view, people=claimed[rows], rows=rows)


def hashed_columns(release: HeldRelease) -> list[str]:
    """The columns whose texts are all hexadecimal digits of one length."""
    hashed = []
    for name, (texts, _) in release.texts.items():
        shown = [text for text in texts if text is not None and text != "*"]
        if shown and len({len(text) for text in shown}) == 1 and all(map(_LOOKS_HASHED.match, shown)):
            hashed.append(name)
    return hashed


def undo(hashes: Iterable[str], owners: dict[str, list[int]]) -> dict[str, int]:
    """The person behind each hash that a plausible value gives, cut to the length of the hashes."""
    by_digest = {text.lower(): text for text in hashes}
    if not by_digest:
        return {}
    length = len(next(iter(by_digest)))
    originals: dict[str, int] = {}
    for value, people in owners.items():
        for spelled in {value, value.lower(), value.upper(), value.strip()}:
            for make in _HASHES.values():
                text = make(spelled.encode())[:length]
                if text in by_digest:
                    originals[by_digest[text]] = people[0]
    return originals
