"""How a policy is written: from the short words of a YAML file to models, and back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import yaml

from aegis.errors import PolicyError
from aegis.privacy.model import MODELS, Model

# word → attribute entry → (model, parameters). The attribute itself is added by the reader.
_L_KINDS = {"distinct": ("l",), "entropy": ("l",), "recursive": ("c", "l")}
_BETA_KINDS = ("basic", "enhanced")
_RISKS = ("prosecutor", "journalist", "marketer", "linkage", "homogeneity")
_WORDS = ("k", "l", "t", "alpha", "beta", "delta", "risk", "models")


def models_from(mapping: Mapping[str, Any], *, sensitive: tuple[str, ...], where: str) -> tuple[Model, ...]:
    """The models of a policy without its roles and limits."""
    unknown = sorted(set(map(str, mapping)) - set(_WORDS))
    if unknown:
        raise PolicyError(f"{where} has no place for {', '.join(unknown)}; it may ask for {', '.join(_WORDS)}")
    found: list[Model] = []
    k = mapping.get("k")
    if k is not None:
        found.append(MODELS["k-anonymity"].from_parameters({"k": k}))
    readers: dict[str, Callable[[Any], tuple[str, dict[str, Any]]]] = {
        "l": lambda entry: _read_l(entry, where),
        "t": lambda entry: ("t-closeness", _either(entry, "t", where)),
        "alpha": lambda entry: (
            "alpha-k-anonymity",
            ({} if k is None else {"k": k}) | _either(entry, "alpha", where),
        ),
        "beta": lambda entry: _read_beta(entry, where),
        "delta": lambda entry: ("delta-disclosure", _either(entry, "delta", where)),
    }
    for word, reader in readers.items():
        if word not in mapping:
            continue
        for attribute, entry in _by_attribute(mapping[word], word, sensitive, where):
            name, parameters = reader(entry)
            found.append(MODELS[name].from_parameters({"attribute": attribute, **parameters}))
    if "risk" in mapping:
        found += _read_risks(mapping["risk"], sensitive, where)
    for entry in _listed(mapping.get("models") or []):
        if not isinstance(entry, Mapping) or len(entry) != 1:
            raise PolicyError(f"{where}: models must be a list of entries like {{k-anonymity: {{k: 5}}}}")
        ((name, parameters),) = entry.items()
        if not isinstance(parameters, Mapping):
            raise PolicyError(f"{where}: {name} needs its parameters by name")
        found.append(MODELS[str(name)].from_parameters(dict(parameters)))
    return tuple(found)


def models_to(models: Iterable[Model]) -> dict[str, Any]:
    """The longest, unambiguous form of the same words."""
    mapping: dict[str, Any] = {}
    for model in models:
        given = {key: _plain(value) for key, value in model.parameters().items()}
        attribute = given.pop("attribute", None)
        family, _, risk = model.name.partition("-")
        if model.name == "k-anonymity":
            mapping["k"] = given["k"]
        elif model.name.endswith("-l-diversity"):
            _append(mapping, "l", attribute, {"kind": family, **given})
        elif model.name == "t-closeness":
            _append(mapping, "t", attribute, given)
        elif model.name == "alpha-k-anonymity":
            _append(mapping, "alpha", attribute, given)
        elif model.name.endswith("-beta-likeness"):
            _append(mapping, "beta", attribute, {"kind": family, **given})
        elif model.name == "delta-disclosure":
            _append(mapping, "delta", attribute, given)
        elif risk == "risk" and family in _RISKS:
            entry = given.get("limit", given)
            mapping.setdefault("risk", {}).setdefault(family, []).append(entry)
        else:
            whole = given if attribute is None else {"attribute": attribute, **given}
            mapping.setdefault("models", []).append({model.name: whole})
    for word in ("l", "t", "alpha", "beta", "delta", "risk"):
        for key, entries in mapping.get(word, {}).items():
            if len(entries) == 1:
                mapping[word][key] = entries[0]
    return mapping


def _read_l(entry: Any, where: str) -> tuple[str, dict[str, Any]]:
    if not isinstance(entry, Mapping):
        return "distinct-l-diversity", {"l": entry}
    given = dict(entry)
    kind = given.pop("kind", "distinct")
    if kind not in _L_KINDS:
        raise PolicyError(f"{where}: the kind of l must be one of {', '.join(_L_KINDS)}")
    return f"{kind}-l-diversity", given


def _read_beta(entry: Any, where: str) -> tuple[str, dict[str, Any]]:
    given = _either(entry, "beta", where)
    kind = given.pop("kind", "basic")
    if kind not in _BETA_KINDS:
        raise PolicyError(f"{where}: the kind of beta must be one of {', '.join(_BETA_KINDS)}")
    return f"{kind}-beta-likeness", given


def _read_risks(entries: Any, sensitive: tuple[str, ...], where: str) -> list[Model]:
    if not isinstance(entries, Mapping):
        raise PolicyError(f"{where}: risk must name risks, for instance risk: {{prosecutor: 0.2}}")
    found: list[Model] = []
    for risk, several in entries.items():
        if risk not in _RISKS:
            raise PolicyError(f"{where}: there is no risk called {risk!r}; the risks are {', '.join(_RISKS)}")
        first = {"linkage": "tau", "homogeneity": "share"}.get(risk, "limit")
        for entry in _listed(several):
            given = _either(entry, first, where)
            if risk == "homogeneity" and "attributes" not in given:
                given["attributes"] = list(_required(sensitive, "risk: {homogeneity: …}", where))
            found.append(MODELS[f"{risk}-risk"].from_parameters(given))
    return found


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


def _append(mapping: dict[str, Any], word: str, attribute: Any, entry: dict[str, Any]) -> None:
    mapping.setdefault(word, {}).setdefault(attribute, []).append(entry)


def _plain(value: Any) -> Any:
    """2.0 and 2 are one threshold and must be written alike."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class _Loader(yaml.SafeLoader):
    """YAML whose mappings name a key once: the second would silently win."""


def _mapping_once(loader: _Loader, node: yaml.MappingNode) -> dict[Hashable, Any]:
    seen: set[Hashable] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, Hashable) or key in seen:
            raise yaml.constructor.ConstructorError(None, None, f"names {key!r} twice", key_node.start_mark)
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_once)


def parsed_yaml(text: str, *, where: str) -> dict[str, Any]:
    """The mapping that a YAML text holds."""
    try:
        mapping = yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader that also refuses repeated keys
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        what = error.problem if error.problem and error.problem.startswith("names ") else "is not readable as YAML"
        raise PolicyError(f"{where} {what}{line}; correct it there") from None
    except yaml.YAMLError:
        raise PolicyError(f"{where} is not readable as YAML; write it as text") from None
    if not isinstance(mapping, dict) or not mapping:
        raise PolicyError(f"{where} must hold entries like 'k: 5'")
    if not all(isinstance(key, str) for key in mapping):
        raise PolicyError(f"{where} holds a key that is not a word; its keys are words like 'k' and 'l'")
    return mapping


def written_yaml(mapping: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(mapping), sort_keys=False, allow_unicode=True, default_flow_style=None)
