"""Commands that are shown to be pasted: the one place where a name, a path or a column becomes a word of a shell."""

from __future__ import annotations

import shlex


def word(text: object) -> str:
    """A path or a name as a shell takes it: one word, whatever characters it has.

    >>> word("my file.csv"), word("age"), word("x;touch pwned #")
    ("'my file.csv'", 'age', "'x;touch pwned #'")
    """
    return shlex.quote(str(text))
