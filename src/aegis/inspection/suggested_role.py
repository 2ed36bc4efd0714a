"""The role that a column looks like having: by the words of its name, its kind, and how many values it has.

The words are those of the languages that tables come in: English, German, French, Spanish, Italian, Dutch, Portuguese
and Polish, without accents. Short words must stand alone; stems begin a word and long ones stand anywhere in it,
because some languages write compounds in one: ``Geburtsdatum``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Set

from aegis.data.kind import DATES, Kind
from aegis.data.schema import Role

PEOPLE = {
    "user", "customer", "client", "patient", "person", "member", "employee", "subject", "guest", "student",
    "respondent", "participant", "subscriber", "passenger", "applicant", "citizen", "resident", "donor", "insured",
    "policyholder", "cardholder", "account", "household", "individual", "pupil", "worker", "driver", "voter", "visitor",
    "kunde", "kunden", "patienten", "patientin", "personal", "personen", "mitarbeiter", "mitglied", "mitglieder",
    "teilnehmer", "versicherte", "versicherten", "schuler", "studierende", "burger", "haushalt", "haushalts", "konto",
    "utilisateur", "salarie", "adherent", "assure", "eleve", "etudiant", "cliente", "paciente", "usuario", "empleado",
    "alumno", "socio", "paziente", "utente", "dipendente", "studente", "klant", "klanten", "gebruiker", "medewerker",
    "deelnemer", "lid", "utilizador", "aluno", "funcionario", "pacjent", "klient", "pracownik", "uzytkownik",
}  # fmt: skip
THINGS = {
    "product", "item", "article", "hotel", "store", "shop", "destination", "ward", "room", "bed", "school", "hospital",
    "clinic", "company", "brand", "model", "type", "category", "group", "class", "market", "station", "flight", "route",
    "campaign", "page", "file", "machine", "sensor", "vehicle", "building", "department", "course", "event",
}  # fmt: skip
"""What has numbers too and is nobody."""
NUMBERS = {
    "id", "ids", "no", "nr", "nbr", "num", "number", "code", "key", "uuid", "guid", "hash", "pseudonym", "token",
    "nummer", "kennung", "numero", "identifiant", "identificador", "codigo", "codice", "numer",
}  # fmt: skip
PERSON_NAMES = {
    "mrn", "ssn", "email", "mail", "username", "login", "userid", "patientid", "customerid", "clientid", "pid", "uid",
}  # fmt: skip
OUTCOMES = {
    "churn", "churned", "default", "defaulted", "survived", "survival", "death", "dead", "died", "deceased",
    "mortality", "alive", "readmitted", "readmission", "fraud", "fraudulent", "canceled", "cancelled", "cancellation",
    "approved", "approval", "deny", "denied", "rejected", "accepted", "purchased", "bought", "clicked", "converted",
    "responded", "attrition", "exited", "relapse", "recidivism", "callback", "booked", "tod", "verstorben", "deces",
    "fallecido", "decesso", "overleden", "obito", "zgon", "kundigung", "storno", "wiederaufnahme", "ruckfall",
}  # fmt: skip
"""What becomes of somebody: usually what is to be predicted."""
EARLIER = {
    "previous", "prior", "past", "earlier", "former", "fruher", "fruhere", "vorherige", "bisherige", "precedent",
    "anterior", "anteriores", "previo", "precedente", "vorige", "eerdere", "poprzedni",
}  # fmt: skip
"""What became of somebody before: known when something is to be predicted."""
TRAITS = {
    "sex", "gender", "female", "male", "race", "ethnicity", "black", "white", "hispanic", "birth", "born", "dob",
    "birthdate", "birthday", "yob", "nationality", "geschlecht", "sexe", "sexo", "genero", "sesso", "geslacht", "plec",
    "naissance", "nacimiento", "nascita", "nascimento", "geburtsjahr", "geburtsdatum", "geboortejaar",
}  # fmt: skip
"""What does not change from one row of a person to the next."""
_NAME_WORDS = {"first", "last", "given", "family", "full", "middle", "maiden", "nick", "sur"}
_EAST = {"long", "lon", "lng"}
SURE_LABELS = {"label", "target", "outcome", "y", "zielgrosse", "zielvariable", "etiqueta", "etiquette", "cible"}

_WORDS = {
    Role.IDENTIFYING: {
        "id", "ids", "name", "firstname", "lastname", "surname", "email", "mail", "phone", "telephone", "mobile", "ssn",
        "passport", "iban", "account", "address", "street", "ip", "mrn", "patient", "uuid", "guid", "username", "login",
        "license", "licence", "plate", "nom", "prenom", "adresse", "rue", "apellido", "apellidos", "nombre", "calle",
        "direccion", "cognome", "nome", "indirizzo", "naam", "adres", "straat", "morada", "imie", "nazwisko", "dni",
        "nif", "nir", "bsn", "pesel", "handy", "movil",
    },
    Role.QUASI_IDENTIFYING: {
        "age", "birth", "birthdate", "birthday", "dob", "born", "sex", "gender", "race", "ethnicity", "zip", "zipcode",
        "postcode", "postal", "plz", "city", "town", "county", "state", "region", "country", "nationality", "native",
        "marital", "education", "occupation", "job", "profession", "workclass", "employment", "height", "weight",
        "relationship", "household", "religion", "language", "admitted", "admission", "personal", "foreign",
        "citizenship", "residence", "birthplace", "district", "province", "municipality", "latitude", "longitude",
        "spouse", "veteran", "disability", "employer", "female", "male", "hispanic", "black", "married", "divorced",
        "partner", "dependents", "senior", "neighborhood", "neighbourhood", "precinct", "lat", "location",
        "coordinates", "birthyear", "yob",
        "alter", "ort", "stadt", "kanton", "kreis", "beruf", "sprache", "grosse", "gewicht",
        "sexe", "naissance", "ville", "commune", "canton", "departement", "pays", "metier", "emploi", "langue", "poids",
        "diplome", "scolarite", "matrimonial", "edad", "sexo", "genero", "nacimiento", "ciudad", "municipio",
        "provincia", "pais", "ocupacion", "profesion", "empleo", "idioma", "altura", "estudios", "sesso",
        "genere", "nascita", "citta", "comune", "paese", "regione", "professione", "occupazione", "lingua",
        "istruzione", "leeftijd", "geslacht", "plaats", "stad", "gemeente", "provincie", "beroep", "taal", "opleiding",
        "idade", "nascimento", "cidade", "profissao", "escolaridade", "wiek", "plec", "miasto", "kraj", "zawod",
        "wojewodztwo",
    },
    Role.SENSITIVE: {
        "diagnosis", "disease", "illness", "sickness", "icd", "condition", "medication", "treatment", "hiv", "salary",
        "income", "wage", "debt", "balance", "credit", "crime", "conviction", "sexual", "political", "union", "test",
        "result",
        "maladie", "traitement", "salaire", "revenu", "dette", "enfermedad", "tratamiento", "salario", "ingresos",
        "deuda", "malattia", "trattamento", "stipendio", "reddito", "debito", "ziekte", "behandeling", "loon",
        "inkomen", "doenca", "tratamento", "renda", "choroba", "leczenie", "pensja", "dochod", "lohn",
    },
    Role.LABEL: {"class", "status", *SURE_LABELS, *OUTCOMES},
}  # fmt: skip
_STEMS = {
    Role.IDENTIFYING: (
        "nachname", "vorname", "familienname", "telefon", "strasse", "ausweis", "steuernummer", "voornaam",
        "achternaam", "versichertennummer", "sozialversicherung", "kontonummer",
    ),
    Role.QUASI_IDENTIFYING: (
        "geburt", "geschlecht", "postleit", "wohnort", "gemeinde", "bundesland", "familienstand", "zivilstand",
        "nationalit", "nacionalidad", "nazionalita", "staatsang", "herkunft", "schulabschluss", "bildung", "ausbildung",
        "konfession", "religi", "aufnahme", "entlass", "korpergr", "geboorte", "urodz", "obywatel", "ethni", "etnia",
        "woonplaats", "nationaliteit", "burgerlijk", "educacion", "educacao",
    ),
    Role.SENSITIVE: (
        "diagnos", "krankheit", "erkrankung", "medikament", "medicament", "medicin", "behandlung", "gehalt",
        "einkommen", "schulden", "befund", "therap",
    ),
    Role.LABEL: (),
}  # fmt: skip
_LONG = 6
"""A stem of so many letters may also end a compound: ``Jahresgehalt``."""
_SUFFIXES = ("nummer", "kennung", "nr", "id")
"""What a compound ends with that names somebody by a number: ``Patientennummer``, ``Kundennr``."""
_FEW_CLASSES = 20
_FEWEST = 20
_MOST_ROWS = 1000
"""Whoever has more rows than that is a thing: a ward, a shop, a machine."""


def words_of(name: str) -> set[str]:
    """The words of a column's name without accents, also those of camelCase and of numbers written in one.

    >>> sorted(words_of("patientNbr_2")), sorted(words_of("CustomerID"))
    (['nbr', 'patient'], ['customer', 'id'])
    >>> sorted(words_of("Patientennummer")), sorted(words_of("Straße"))
    (['nummer', 'patienten', 'patientennummer'], ['strasse'])
    """
    apart = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name))
    letters = "".join(letter for letter in unicodedata.normalize("NFKD", apart) if not unicodedata.combining(letter))
    words = set(re.findall(r"[^\W\d_]+", letters.casefold()))
    for word in tuple(words):
        for suffix in _SUFFIXES:
            whose = word.removesuffix(suffix)
            if whose != word and whose in PEOPLE:
                words |= {whose, suffix}
    return words


def names_somebody(words: Set[str]) -> bool:
    """Whether the words of a column's name say that it holds names of people: few of them are names all the same.

    >>> names_somebody(words_of("fake_last_name")), names_somebody(words_of("clinic_name"))
    (True, False)
    """
    return ("name" in words and bool(words & (_NAME_WORDS | PEOPLE))) or bool(
        words & {"firstname", "lastname", "surname", "forename", "givenname", "familyname", "fullname"}
    )


def is_longitude(words: Set[str], others: Iterable[Set[str]]) -> bool:
    """Whether a column is the east of a place: ``long`` says so beside a column of the north only.

    >>> is_longitude({"long"}, [{"lat"}]), is_longitude({"long"}, [{"short"}])
    (True, False)
    """
    return bool(words & _EAST) and any("lat" in other or "latitude" in other for other in others)


def names_role(words: Set[str], role: Role) -> bool:
    """Whether one of the words of a column's name usually names a column of this role.

    >>> names_role(words_of("Geburtsdatum"), Role.QUASI_IDENTIFYING), names_role(words_of("lead_time"), Role.SENSITIVE)
    (True, False)
    >>> names_role(words_of("canceled"), Role.LABEL), names_role(words_of("previous_bookings_canceled"), Role.LABEL)
    (True, False)
    """
    if role is Role.LABEL and words & EARLIER:
        return False
    return bool(words & _WORDS[role]) or any(
        word.startswith(stem) or (len(stem) >= _LONG and stem in word)
        for stem in _STEMS[role]
        for word in words - OUTCOMES  # to be admitted again is no admission
    )


def suggest_role(
    name: str,
    kind: Kind,
    *,
    distinct: int,
    present: int,
    last: bool,
    label: bool = True,
    looks_like: str | None = None,
    longitude: bool = False,
) -> tuple[Role, str]:
    """The role a column looks like having, and what it was judged by.

    ``label`` says whether it may be the label, ``looks_like`` what its values look like where that names people,
    ``longitude`` whether it stands beside a latitude.

    >>> suggest_role("Patient ID", Kind.TEXT, distinct=900, present=900, last=False)[0].value
    'identifying'
    >>> suggest_role("age", Kind.INTEGER, distinct=70, present=900, last=False)[0].value
    'quasi_identifying'
    >>> suggest_role("outcome", Kind.INTEGER, distinct=2, present=900, last=True)[0].value
    'label'
    """
    words = words_of(name)
    if not present:
        return Role.IDENTIFYING, "no value in any row; this role leaves it out"
    if looks_like is not None:
        return Role.IDENTIFYING, f"its values look like {looks_like}"
    if kind in DATES and distinct > 1:
        return Role.QUASI_IDENTIFYING, "a date: whoever knows somebody may know when it was"
    # Numbers of a wide range differ in nearly every row by chance; in every row only where they count something.
    enough = present if kind is Kind.INTEGER else 0.98 * present
    if present > 20 and distinct >= enough and kind is not Kind.REAL:
        return Role.IDENTIFYING, "a value of its own in nearly every row"
    rows_each = several_rows_each(name, kind, distinct=distinct, present=present)
    if rows_each is not None:
        return Role.IDENTIFYING, f"names somebody who has {rows_each:.1f} rows on average"
    if words & PEOPLE and words & NUMBERS and distinct > _FEW_CLASSES:
        return Role.IDENTIFYING, "by its name"
    if names_somebody(words) and distinct > 1:
        return Role.IDENTIFYING, "by its name: names of people"
    if longitude and distinct > 1:
        return Role.QUASI_IDENTIFYING, "by its name: half of a place"
    classes = label and 2 <= distinct <= _FEW_CLASSES
    # What people know of each other is masked; as the label it would leave as it is.
    if classes and (last or names_role(words, Role.LABEL)) and not names_role(words, Role.QUASI_IDENTIFYING):
        return Role.LABEL, "few classes" + (", last column" if last else ", by its name")
    for role in (Role.QUASI_IDENTIFYING, Role.SENSITIVE):
        if names_role(words, role):
            return role, "by its name"
    of_things = bool(words & THINGS) and not words & PEOPLE
    if names_role(words, Role.IDENTIFYING) and distinct > 0.2 * present and not of_things:
        return Role.IDENTIFYING, "by its name, and many distinct values"
    if distinct <= 1:
        return Role.INSENSITIVE, "constant"
    return Role.INSENSITIVE, "nothing suggests otherwise"


def several_rows_each(name: str, kind: Kind, *, distinct: int, present: int) -> float | None:
    """How many rows somebody has on average, where a column looks as if it said whose rows they are; else None.

    Its name may say that it is something else: a postal code is a code of a place.

    >>> several_rows_each("patient_nbr", Kind.INTEGER, distinct=70_000, present=100_000)
    1.4285714285714286
    >>> several_rows_each("destination_id", Kind.TEXT, distinct=9_000, present=100_000) is None
    True
    """
    if kind not in (Kind.TEXT, Kind.INTEGER) or distinct <= _FEWEST or distinct >= 0.98 * present:
        return None
    words = words_of(name)
    if _is_something_else(words) or present > _MOST_ROWS * distinct:
        return None
    of_people = bool(words & PEOPLE) and (bool(words & NUMBERS) or len(words) == 1)
    of_nothing_else = bool(words) and words <= NUMBERS and distinct >= 0.02 * present
    if of_people or words & PERSON_NAMES or of_nothing_else:
        return present / distinct
    return None


def _is_something_else(words: set[str]) -> bool:
    about = words - {"household", "personal"}
    return names_role(about, Role.QUASI_IDENTIFYING) or names_role(about, Role.SENSITIVE)
