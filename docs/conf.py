"""The documentation as a site: ``make docs`` builds it, and a warning is an error.

README.md is the first page, and the links of its sections are the navigation: a page that no section names fails the
build. Nothing is loaded from elsewhere: fonts are the reader's own, and the search runs in the browser.
"""

from __future__ import annotations

import ast
import re
from inspect import get_annotations
from typing import Any, get_type_hints

from sphinx.util.typing import stringify_annotation

from aegis import __version__
from aegis.operation import Argument, Operation, fields_of

project = "Aegis"
author = "The Aegis maintainers"
copyright = "The Aegis maintainers, Apache-2.0"
release = version = __version__

root_doc = "README"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["**/__pycache__"]
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]  # console sessions and YAML with an ellipsis are not whole programs

default_role = "code"
napoleon_numpy_docstring = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": False}
add_module_names = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 90

html_theme = "furo"
html_title = f"Aegis {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00695c", "color-brand-content": "#00796b"},
    "dark_css_variables": {"color-brand-primary": "#4db6ac", "color-brand-content": "#4db6ac"},
}


def sections(text: str) -> dict[str, list[str]]:
    """The pages that each section of the first page links to, in order.

    >>> sections("# Docs\\n\\n## How to\\n\\n- [mask](how-to/mask.md): columns\\n- [x](x.json)\\n")
    {'How to': ['how-to/mask']}
    """
    named: dict[str, list[str]] = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        named[title.strip()] = re.findall(r"\]\(([^):#]+)\.md\)", body)
    return named


def _add_navigation(_app: Any, page: str, source: list[str]) -> None:
    if page == root_doc:
        for title, pages in sections(source[0]).items():
            source[0] += "\n```{toctree}\n:hidden:\n:caption: " + "\n".join([title, "", *pages]) + "\n```\n"


def _declared(annotation: str) -> str | None:
    """The type as it is written in ``Annotated[type, …]``; None where a name stands for the whole."""
    node = ast.parse(annotation, mode="eval").body
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Annotated" and isinstance(node.slice, ast.Tuple):
        return ast.unparse(node.slice.elts[0])
    return None


def _plain_signature(
    _app: Any, _what: str, _name: str, thing: Any, _options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """The options of an operation by name, type and default; what each means stands below in its docstring."""
    if not isinstance(thing, Operation):
        return signature, returned
    options: Any = thing.options
    written = {name: text for kind in reversed(options.__mro__) for name, text in get_annotations(kind).items()}
    hints = get_type_hints(options)  # without what Annotated adds
    parts = []
    for field in fields_of(options):
        if not isinstance(field.option, Argument) and "*" not in parts:
            parts.append("*")
        default = "" if field.required else f" = {field.default!r}"
        declared = _declared(written[field.name]) or stringify_annotation(hints[field.name], "smart")
        parts.append(f"{field.name}: {declared}{default}")
    return f"({', '.join(parts)})", returned


def setup(app: Any) -> None:
    """Join Sphinx."""
    app.connect("autodoc-process-signature", _plain_signature)
    app.connect("source-read", _add_navigation)
