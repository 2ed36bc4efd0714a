"""Text that people upload as YAML or JSON: read without executing, repeating or exploding anything."""

from __future__ import annotations

import json
from typing import Any

import yaml

from aegis.errors import ConfigurationError, TooLargeError

MOST_YAML_CHARACTERS = 500_000
"""YAML is read slowly; what is larger can be written as JSON."""


class _Plain(yaml.SafeLoader):
    """The safe loader without aliases, which let a small text stand for a huge one, and without repeated keys."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.constructor.ConstructorError(None, None, "aliases are not read", None)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(keys) < len(node.value) or len(set(keys)) < len(keys):
            raise yaml.constructor.ConstructorError(None, None, "a key named twice", node.start_mark)
        return super().construct_mapping(node, deep=deep)


def parsed_document(text: str, *, most_bytes: int) -> Any:
    """What a YAML or JSON text holds."""
    if len(text) > most_bytes:
        raise TooLargeError(f"the document is larger than the {most_bytes} bytes that are accepted; split it")
    try:
        if text.lstrip()[:1] in ("{", "["):
            try:
                return json.loads(text)
            except ValueError:
                pass  # YAML has such brackets too
        if len(text) > MOST_YAML_CHARACTERS:
            raise ConfigurationError(f"YAML is read up to {MOST_YAML_CHARACTERS} characters; send it as JSON")
        return yaml.load(text, Loader=_Plain)  # noqa: S506 - a SafeLoader that reads less
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f": see line {mark.line + 1}" if mark else ""
        raise ConfigurationError(
            f"the text is not valid YAML or JSON, uses aliases, or names a key twice{where}"
        ) from None
    except (RecursionError, ValueError):
        raise ConfigurationError("the text is nested too deep or holds a value that cannot be read") from None
