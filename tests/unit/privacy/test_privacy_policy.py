"""A policy says what it means, comes back as it was written, and refuses what makes no sense."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aegis.data.kind import Kind
from aegis.data.schema import Column, Roles, Schema
from aegis.errors import PolicyError
from aegis.privacy.models.k_anonymity import AlphaKAnonymity, KAnonymity
from aegis.privacy.models.l_diversity import DistinctLDiversity, EntropyLDiversity, RecursiveLDiversity
from aegis.privacy.models.likeness import BasicBetaLikeness, DeltaDisclosure, EnhancedBetaLikeness
from aegis.privacy.models.risks import HomogeneityRisk, JournalistRisk, LinkageRisk, MarketerRisk, ProsecutorRisk
from aegis.privacy.models.t_closeness import TCloseness
from aegis.privacy.policy import Policy, Suppressed

WHOLE = """
quasi_identifying: [age, zip]
sensitive: [disease, salary]
label: outcome
k: 5
l:
  disease: [2, {kind: entropy, l: 1.5}, {kind: recursive, c: 3, l: 2}]
  salary: {kind: distinct, l: 3}
t: {disease: 0.3, salary: {distance: ordered, t: 0.2}}
alpha: {disease: 0.5}
beta: {disease: 2, salary: {kind: enhanced, beta: 1}}
delta: {disease: {delta: 1.5, absent: ignored}}
risk: {prosecutor: 0.2, journalist: 0.1, marketer: 0.05, linkage: {tau: 0.1, share: 0.01}, homogeneity: 0}
max_suppression: 0.02
suppressed: exempt
"""


def test_every_word_of_the_format() -> None:
    policy = Policy.from_yaml(WHOLE)
    assert set(policy.models) == {
        KAnonymity(k=5),
        DistinctLDiversity(attribute="disease", l=2),
        EntropyLDiversity(attribute="disease", l=1.5),
        RecursiveLDiversity(attribute="disease", c=3, l=2),
        DistinctLDiversity(attribute="salary", l=3),
        TCloseness(attribute="disease", t=0.3),
        TCloseness(attribute="salary", t=0.2, distance="ordered"),
        AlphaKAnonymity(attribute="disease", alpha=0.5, k=5),
        BasicBetaLikeness(attribute="disease", beta=2),
        EnhancedBetaLikeness(attribute="salary", beta=1),
        DeltaDisclosure(attribute="disease", delta=1.5, absent="ignored"),
        ProsecutorRisk(limit=0.2),
        JournalistRisk(limit=0.1),
        MarketerRisk(limit=0.05),
        LinkageRisk(tau=0.1, share=0.01),
        HomogeneityRisk(attributes=("disease", "salary"), share=0),
    }
    assert policy.roles == Roles(label="outcome", quasi_identifying=("age", "zip"), sensitive=("disease", "salary"))
    assert policy.max_suppression == 0.02
    assert policy.suppressed is Suppressed.EXEMPT
    assert not policy.monotone
    assert not policy.absorbing
    assert len(policy.describe().splitlines()) == len(policy.models) + 1


def test_it_comes_back_as_it_was() -> None:
    policy = Policy.from_yaml(WHOLE)
    assert Policy.from_mapping(policy.to_mapping()) == policy
    assert Policy.from_yaml(policy.to_yaml()) == policy
    assert Policy.from_yaml(policy.to_yaml()).id == policy.id


@given(
    st.permutations(
        ["k: 4", "quasi_identifying: [a, b]", "t: {s: 0.5, r: 0.25}", "risk: {marketer: 0.5, linkage: 0.1}"]
    )
)
def test_the_id_depends_on_the_content_alone(lines: list[str]) -> None:
    policy = Policy.from_yaml("\n".join(lines))
    same = "quasi_identifying: [b, a]\nk: 4\nrisk: {linkage: {tau: 0.1}, marketer: 0.5}\nt: {r: 0.25, s: {t: 0.5}}"
    assert policy.id == Policy.from_yaml(same).id == Policy.from_mapping(policy.to_mapping()).id
    assert Policy.from_yaml(same + "\nmax_suppression: 0.1").id != policy.id


def test_numbers_that_are_equal_are_written_alike() -> None:
    a, b = (Policy.from_yaml(f"l: {{s: {{kind: entropy, l: {text}}}}}\nmax_suppression: 0") for text in ("2", "2.0"))
    assert a.id == b.id


def test_a_bare_number_is_for_every_sensitive_attribute() -> None:
    policy = Policy.from_yaml("sensitive: [r, s]\nl: 2")
    assert set(policy.models) == {DistinctLDiversity(attribute="r", l=2), DistinctLDiversity(attribute="s", l=2)}


def test_models_of_others_are_asked_for_by_name() -> None:
    policy = Policy.from_yaml("models: [{k-anonymity: {k: 3}}]")
    assert policy.models == (KAnonymity(k=3),)


def test_an_attribute_that_is_protected_is_sensitive() -> None:
    policy = Policy.from_yaml("t: {disease: {distance: hierarchical, t: 0.1}}\nlabel: disease")
    assert policy.roles.sensitive == ("disease",)
    assert policy.roles.label == "disease"
    assert policy.hierarchical == ("disease",)
    assert policy.attributes == ("disease",)


SCHEMA = Schema(columns=tuple(Column(name=name, kind=Kind.TEXT) for name in ("age", "zip", "disease", "other")))


def test_its_roles_override_those_of_the_data() -> None:
    policy = Policy.from_yaml("quasi_identifying: [zip]\nl: {disease: 2}")
    own = Roles(label="other", quasi_identifying=("age", "disease"), insensitive=("zip",))
    assert policy.roles_in(SCHEMA, own) == Roles(
        label="other", quasi_identifying=("zip", "age"), sensitive=("disease",)
    )


@pytest.mark.parametrize(
    ("text", "own", "message"),
    [
        ("quasi_identifying: [aeg]\nk: 5", Roles(), "names column 'aeg', which the table does not have"),
        ("l: {diseas: 2}", Roles(), "names column 'diseas'"),
        ("k: 5", Roles(), "no column is quasi-identifying"),
        ("k: 5\nquasi_identifying: [age]", Roles(label="age"), "but it is the label"),
    ],
)
def test_a_policy_that_does_not_fit_the_table(text: str, own: Roles, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        Policy.from_yaml(text).roles_in(SCHEMA, own)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must hold entries"),
        ("- k", "must hold entries"),
        ("5: 5", "not a word"),
        ("k: [", "not valid YAML in line 1"),
        ("k: 5\nk: 6", "names a key twice in line 2"),
        ("l: {s: 2, s: 3}", "names a key twice in line 1"),
        ("m: 5", "no place for m"),
        ("{k: 5, quasi_identifiers: [age]}", "did you mean 'quasi_identifying'?"),
        ("quasi_identifying: [a]", "asks for nothing"),
        ("k: 0", "k of k-anonymity must be a whole number from 1 up, not 0"),
        ("k: five", "must be a whole number"),
        ("k: true", "must be a whole number"),
        ("k: 2.5", "must be a whole number"),
        ("l: 2", "names none"),
        ("risk: {homogeneity: 0}", "names none"),
        ("l: {s: {kind: fuzzy, l: 2}}", "kind of l must be one of distinct, entropy, recursive"),
        ("l: {s: {kind: distinct, c: 3, l: 2}}", "distinct-l-diversity has no parameter c"),
        ("l: {s: {kind: recursive, l: 2}}", "recursive-l-diversity needs its parameters"),
        ("l: {3: 2}", "must name columns"),
        ("t: {s: 1.5}", "t of t-closeness must be a number from 0 to 1, not 1.5"),
        ("t: {s: {distance: near, t: 0.5}}", "distance of t-closeness must be one of"),
        ("t: {s: {3: 0.5}}", "must have names"),
        ("alpha: {s: 0}", "alpha of alpha-k-anonymity"),
        ("beta: {s: {kind: odd, beta: 1}}", "kind of beta"),
        ("delta: {s: -1}", "delta of delta-disclosure must be a number above 0"),
        ("risk: 0.2", "must name risks"),
        ("risk: {neighbour: 0.2}", "no risk called 'neighbour'"),
        ("risk: {prosecutor: 2}", "limit of prosecutor-risk"),
        ("risk: {linkage: {tau: 0.1, part: 0.1}}", "no parameter part"),
        ("models: [k-anonymity]", "must be a list of entries"),
        ("models: [{k-anonymity: 5}]", "needs its parameters by name"),
        ("models: [{k-anonimity: {k: 5}}]", "no privacy model called 'k-anonimity'"),
        ("k: 5\nmax_suppression: 2", "max_suppression of the policy must be a number from 0 to 1, not 2"),
        ("k: 5\nmax_suppression: some", "max_suppression"),
        ("k: 5\nsuppressed: forgotten", "suppressed must be one of judged, exempt, dropped"),
        ("k: 5\nquasi_identifying: [a]\nsensitive: [a]", "'a' is named both"),
        ("k: 5\nquasi_identifying: [a, a]", "'a' is named twice as quasi_identifying"),
        ("k: 5\nquasi_identifying: {a: 1}", "must be a list of column names"),
        ("l: {a: 2}\nquasi_identifying: [a]", "protects 'a' as a sensitive attribute and names it quasi_identifying"),
        ("l: {a: [2, 3]}", "asks twice for distinct-l-diversity of a"),
        ("k: 5\nmodels: [{k-anonymity: {k: 3}}]", "asks twice for k-anonymity"),
        ("risk: {marketer: [0.1, 0.2]}", "asks twice for marketer-risk"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_with_a_sentence(text: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message) as caught:
        Policy.from_yaml(text)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="cannot be read"):
        Policy.read(tmp_path / "none.yaml")
    (tmp_path / "policy.yaml").write_text(WHOLE, encoding="utf-8")
    assert Policy.read(tmp_path / "policy.yaml") == Policy.from_yaml(WHOLE)
    (tmp_path / "policy.yaml").write_bytes(b"\xff\xfe\x00k")
    with pytest.raises(PolicyError, match="cannot be read"):
        Policy.read(tmp_path / "policy.yaml")
