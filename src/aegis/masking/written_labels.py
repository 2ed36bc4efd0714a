"""A configuration as far as a release shows it: the labels that its masks wrote, without the values behind them.

A hierarchy or a list of groups names every value of its column, those of a single record among them. Whoever gets a
release needs none of that to check it: which labels a mask writes is enough. The configuration itself stays with the
provider, and its id, a digest of what it does, says which one it was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from aegis.data.hierarchy import Hierarchy
from aegis.masking.configuration import Configuration, canonical
from aegis.masking.mask import Mask
from aegis.masking.masks.generalize import Generalize
from aegis.masking.masks.regroup import Regroup
from aegis.masking.transition import Chain


def names_values(mask: Mask) -> bool:
    """Whether a mask lists the values of its column."""
    return any(isinstance(step, Generalize | Regroup) for step in mask.steps)


def as_labels(configuration: Configuration, written: Mapping[str, Collection[str]]) -> Configuration:
    """The configuration with labels in place of values; ``written`` are the labels that stand in the release."""
    masks = {column: label_mask(mask, written.get(column)) for column, mask in configuration.masks.items()}
    return replace(configuration, masks=masks)


def label_mask(mask: Mask, written: Collection[str] | None) -> Mask:
    """A mask that writes those of its labels that are ``written`` (all of them for None), and names no value.

    >>> sizes = Hierarchy.of([["1", "few", "*"], ["2", "few", "*"], ["9", "many", "*"]])
    >>> label_mask(Generalize(level=1, hierarchy=sizes), ["few"]).hierarchy.rows
    (('few', 'few'),)
    """
    if isinstance(mask, Chain):
        *first, last = mask.links
        return Chain(links=(*(label_mask(link, None) for link in first), label_mask(last, written)))
    if isinstance(mask, Generalize) and mask.hierarchy is not None:
        labels = dict.fromkeys(mask.hierarchy.at(mask.level).values())
        possible = [label for label in labels if written is None or label in written] or ["*"]
        return replace(mask, hierarchy=Hierarchy.of([[label] * (mask.level + 1) for label in possible]))
    if isinstance(mask, Regroup):
        names = [name for name in dict(mask.groups) if written is None or name in written]
        return replace(mask, groups={name: [] for name in names or [mask.other]})
    return mask


def states(stated: Configuration, full: Configuration) -> bool:
    """Whether a configuration that names labels is what ``full`` writes, or a part of that."""
    if set(stated.masks) != set(full.masks):
        return False
    return all(
        canonical(mask) == canonical(label_mask(full.masks[column], labels_of(mask)))
        for column, mask in stated.masks.items()
    )


def writes(mask: Mask, groups: Mapping[str, Collection[str]]) -> bool:
    """Whether a mask makes each of some values the label that it stands under; of a chain only the labels are held.

    >>> sizes = Regroup(groups={"few": ["1", "2"], "many": ["9"]})
    >>> writes(sizes, {"few": ["2"]}), writes(sizes, {"many": ["2"]})
    (True, False)
    """
    if isinstance(mask, Chain):
        return set(groups) <= set(labels_of(mask))
    if isinstance(mask, Generalize) and mask.hierarchy is not None:
        label_of = mask.hierarchy.at(mask.level)
    elif isinstance(mask, Regroup):
        label_of = {value: name for name, values in dict(mask.groups).items() for value in values}
    else:
        return not groups
    return all(label_of.get(value) == label for label, values in groups.items() for value in values)


def labels_of(mask: Mask) -> list[str]:
    """The labels that a mask writes which puts values into groups; none of any other."""
    last = mask.steps[-1]
    if isinstance(last, Generalize) and last.hierarchy is not None:
        return list(last.hierarchy.at(last.level).values())
    return list(dict(last.groups)) if isinstance(last, Regroup) else []
