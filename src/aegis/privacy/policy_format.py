"""How a policy is written: from the short words of a YAML file to models, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, cast

import yaml

from aegis.data.yaml_text import parsed
from aegis.errors import PolicyError
from aegis.privacy.model import MODELS, Model
from aegis.registry import did_you_mean

MODELS_WORD = "models"
"""Where models stand that have no word of their own."""


def models_from(
    mapping: Mapping[str, Any], *, sensitive: tuple[str, ...], where: str, beside: tuple[str, ...] = ()
) -> tuple[Model, ...]:
    """The models of a policy without its roles and limits; ``beside`` are the words that those go by."""
    words = _words()
    places = [*words, MODELS_WORD, *beside]
    unknown = sorted(set(map(str, mapping)) - {*words, MODELS_WORD})
    if unknown:
        meant = "".join(did_you_mean(word, places) for word in unknown)
        raise PolicyError(f"{where} has no place for {', '.join(unknown)}{meant}; it may say {', '.join(places)}")
    models: list[Model] = []
    for word, kinds in words.items():
        if word in mapping:
            models += _read_word(word, kinds, mapping, sensitive, where)
    for entry in _listed(mapping.get(MODELS_WORD) or []):
        if not isinstance(entry, Mapping) or len(entry) != 1:
            raise PolicyError(f"{where}: models must be a list of entries like {{k-anonymity: {{k: 5}}}}")
        ((name, parameters),) = entry.items()
        if not isinstance(parameters, Mapping):
            raise PolicyError(f"{where}: {name} needs its parameters by name")
        models.append(MODELS[str(name)].from_parameters(dict(parameters)))
    return tuple(models)


def models_to(models: Iterable[Model]) -> dict[str, Any]:
    """The longest, unambiguous form of the same words."""
    mapping: dict[str, Any] = {}
    several: dict[str, dict[str, list[Any]]] = {}
    for model in models:
        parameters = {key: _plain(value) for key, value in model.parameters().items()}
        written = model.written
        if written is None:
            mapping.setdefault(MODELS_WORD, []).append({model.name: parameters})
            continue
        attribute = parameters.pop("attribute", None)
        entry = parameters[written.bare] if list(parameters) == [written.bare] else parameters
        if attribute is not None:
            named = parameters if written.kind is None else {"kind": written.kind, **parameters}
            several.setdefault(written.word, {}).setdefault(attribute, []).append(named)
        elif written.kind is not None:
            several.setdefault(written.word, {}).setdefault(written.kind, []).append(entry)
        else:
            mapping[written.word] = entry
    for word, listed in several.items():
        mapping[word] = {key: entries[0] if len(entries) == 1 else entries for key, entries in listed.items()}
    return mapping


Kinds = dict[str | None, type[Model]]


def _words() -> dict[str, Kinds]:
    """The words of policies, each with its models by kind."""
    words: dict[str, Kinds] = {}
    for _, model in MODELS.items():
        if model.written is not None:
            words.setdefault(model.written.word, {})[model.written.kind] = model
    return dict(sorted(words.items()))


def _read_word(
    word: str, kinds: Kinds, policy: Mapping[str, Any], sensitive: tuple[str, ...], where: str
) -> Iterable[Model]:
    """The models that a policy asks for under one word."""
    entries = policy[word]
    if all(_is_about_an_attribute(model) for model in kinds.values()):
        for attribute, entry in _by_attribute(entries, word, sensitive, where):
            model, parameters = _chosen(word, kinds, entry, where)
            assert model.written is not None
            inherited = {name: policy[name] for name in model.written.inherits if policy.get(name) is not None}
            yield model.from_parameters({"attribute": attribute, **inherited, **parameters})
    elif None in kinds:
        model = kinds[None]
        assert model.written is not None
        if entries is not None:
            yield model.from_parameters({model.written.bare: entries})
    else:
        yield from _read_kinds(word, kinds, entries, sensitive, where)


def _read_kinds(word: str, kinds: Kinds, entries: Any, sensitive: tuple[str, ...], where: str) -> Iterable[Model]:
    """Models about no single attribute: ``risk: {prosecutor: 0.2}``."""
    if not isinstance(entries, Mapping):
        first = min(map(str, kinds))
        raise PolicyError(f"{where}: {word} must name {word}s, for instance {word}: {{{first}: 0.2}}")
    for kind, several in entries.items():
        if kind not in kinds:
            raise PolicyError(
                f"{where}: there is no {word} called {kind!r}; there are {', '.join(sorted(map(str, kinds)))}"
            )
        model = kinds[kind]
        assert model.written is not None
        for entry in _listed(several):
            parameters = _either(entry, model.written.bare, where)
            if "attributes" in _fields(model) and "attributes" not in parameters:
                parameters["attributes"] = list(_required(sensitive, f"{word}: {{{kind}: …}}", where))
            yield model.from_parameters(parameters)


def _chosen(word: str, kinds: Kinds, entry: Any, where: str) -> tuple[type[Model], dict[str, Any]]:
    """The model that an entry asks for, by its kind or the usual one, and its parameters."""
    usual = next(model for model in kinds.values() if model.written and (model.written.usual or len(kinds) == 1))
    assert usual.written is not None
    parameters = _either(entry, usual.written.bare, where)
    if None in kinds:
        return usual, parameters
    kind = parameters.pop("kind", usual.written.kind)
    if kind not in kinds:
        raise PolicyError(f"{where}: the kind of {word} must be one of {', '.join(sorted(map(str, kinds)))}")
    return kinds[kind], parameters


def _is_about_an_attribute(model: type[Model]) -> bool:
    return "attribute" in _fields(model)


def _fields(model: type[Model]) -> set[str]:
    return {item.name for item in fields(cast(Any, model))}


def _by_attribute(entries: Any, word: str, sensitive: tuple[str, ...], where: str) -> Iterable[tuple[str, Any]]:
    """Each attribute with each of its entries; a bare number is for every sensitive attribute the policy names."""
    if not isinstance(entries, Mapping):
        for attribute in _required(sensitive, f"{word}: …", where):
            yield attribute, entries
        return
    for attribute, several in entries.items():
        if not isinstance(attribute, str):
            raise PolicyError(f"{where}: {word} must name columns, for instance {word}: {{disease: …}}")
        for entry in _listed(several):
            yield attribute, entry


def _required(sensitive: tuple[str, ...], form: str, where: str) -> tuple[str, ...]:
    if not sensitive:
        raise PolicyError(
            f"{where}: '{form}' is for every sensitive attribute, but the policy names none; "
            "write sensitive: [disease], or name the attribute in the entry"
        )
    return sensitive


def _either(entry: Any, first: str, where: str) -> dict[str, Any]:
    """An entry that is only its threshold, or a mapping."""
    if isinstance(entry, Mapping):
        if not all(isinstance(key, str) for key in entry):
            raise PolicyError(f"{where}: the parameters of {first} must have names")
        return dict(entry)
    return {first: entry}


def _listed(entry: Any) -> list[Any]:
    return list(entry) if isinstance(entry, list | tuple) else [entry]


def _plain(value: Any) -> Any:
    """2.0 and 2 are one threshold and must be written alike."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def parsed_yaml(text: str, *, where: str) -> dict[str, Any]:
    """The mapping that a YAML text holds."""
    mapping = parsed(text, where=where, error=PolicyError)
    if not isinstance(mapping, dict) or not mapping:
        raise PolicyError(f"{where} must hold entries like 'k: 5'")
    if not all(isinstance(key, str) for key in mapping):
        raise PolicyError(f"{where} holds a key that is not a word; its keys are words like 'k' and 'l'")
    return mapping


def written_yaml(mapping: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(mapping), sort_keys=False, allow_unicode=True, default_flow_style=None)
