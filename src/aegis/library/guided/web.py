"""The path as a page, for this machine only: a server on the loopback address with a secret in its address.

Whoever else is on the machine or in the browser does not get in: the address holds a token that nobody can guess, the
Host header must name the loopback address (a name that somebody points at it does not do), a form must come from this
page, and nothing is loaded from anywhere.
"""

from __future__ import annotations

import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from aegis.commands import terminal
from aegis.commands.start import Start
from aegis.counts.disclosure_rule import FEWEST
from aegis.data.schema import Role
from aegis.errors import AegisError
from aegis.library.guided.deciding import PURPOSES, k_in_words
from aegis.library.guided.looking import NOTATION_WORDS, person_columns
from aegis.library.guided.started import Started
from aegis.library.guided.web_session import Session
from aegis.report.page import picture, render_page
from aegis.report.start_report import associations_of, columns_of, risk_chart, rows_of

LOOPBACK = "127.0.0.1"
_MOST_BYTES = 1_000_000
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def serve(options: Start) -> Started:
    """Serve the page until the release is made and the page is closed with its button; Ctrl-C ends it before."""
    site = Site(Session(options))
    terminal.talk().print(f"open {site.address}", soft_wrap=True)
    terminal.aside("only this machine can; Ctrl-C ends it, and what was decided is kept")
    site.run()
    assert site.session.started is not None, "the button that ends the page is on its last step only"
    return site.session.started


class Site:
    """The server of one walk."""

    def __init__(self, session: Session, *, port: int = 0) -> None:
        self.session = session
        self.token = secrets.token_urlsafe(24)
        site = self

        class Handler(_Handler):
            def __init__(self, *arguments: Any) -> None:
                self.site = site
                super().__init__(*arguments)

        self._server = ThreadingHTTPServer((LOOPBACK, port), Handler)
        self._server.daemon_threads = True

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/{self.token}/"

    def run(self) -> None:
        """Answer until `stop`."""
        try:
            self._server.serve_forever(poll_interval=0.1)
        finally:
            self._server.server_close()

    def stop(self) -> None:
        """End `run`, from any thread but its own."""
        threading.Thread(target=self._server.shutdown, daemon=True).start()

    def page(self) -> str:
        """The step that is next, with what was decided before it."""
        session = self.session
        stage = session.stage
        context: dict[str, Any] = {"stage": stage, "problem": session.problem, "doing": session.doing}
        context["notes"] = session.notes
        if stage in ("look", "roles"):
            context |= {"columns": columns_of(session.seen), "noticed": session.seen.sentences()}
        if stage == "look":
            written = [notation for notation in session.seen.findings.written if notation.likely is not None]
            context |= {"marks": session.seen.marks, "label": session.likely_label}
            context |= {"written": written, "notations": NOTATION_WORDS}
            context |= {
                "associations": associations_of(session.seen),
                "rows_looked_at": session.seen.findings.rows_looked_at,
            }
        if stage == "roles":
            roles = [role.value for role in Role if role is not Role.LABEL]
            context |= {"suggested": session.suggested, "roles": roles, "label": session.label}
        decided = session.project.roles
        if stage == "policy" and decided is not None:
            people = person_columns(session.seen, decided)
            context |= {
                "purposes": tuple(PURPOSES.values()),
                "purpose": session.purpose,
                "words": {
                    purpose.name: k_in_words(purpose.k, decided.quasi_identifying, next(iter(people), None))
                    for purpose in PURPOSES.values()
                },
                "person_columns": people,
            }
        if stage == "working" and session.first is not None and session.comparison is None:
            context["first_chart"] = picture(risk_chart(session.first))
            context["first_words"] = session.first.so_far()
        if stage == "compare":
            context["has_hierarchies"] = session.may_edit_hierarchies
        if stage == "choose" and session.comparison is not None:
            context |= {
                "chart": picture(risk_chart(session.comparison)),
                "candidates": [candidate for candidate in rows_of(session.comparison) if candidate["can_be_released"]],
                "others": [candidate for candidate in rows_of(session.comparison) if not candidate["can_be_released"]],
                "why": session.comparison.why,
                "rejected": sorted(session.comparison.rejected.items()),
                "changes": session.changes(),
            }
        if stage == "done":
            context |= {"started": session.started}
        return render_page(
            "start_web.html",
            title=f"{session.project.data} · Aegis",
            source=session.project.data,
            rows=session.seen.profile.rows,
            decided=decided,
            policy=session.project.policy,
            **context,
        )

    def hierarchies_page(self) -> str:
        """The hierarchies of the quasi-identifiers, to be looked at and changed."""
        session = self.session
        policy = session.project.policy or {}
        try:
            drafts = session.hierarchy_drafts()
        except AegisError as error:
            drafts, session.problem = (), str(error)
        return render_page(
            "start_hierarchies.html",
            title=f"{session.project.data} · hierarchies · Aegis",
            source=session.project.data,
            problem=session.problem,
            drafts=drafts,
            k=policy.get("k", FEWEST),
            counted="rows" if policy.get("unit") is None else "people",
            fewest=FEWEST,
        )


class _Handler(BaseHTTPRequestHandler):
    """Answers for a `Site`; it logs nothing, because an address holds the token."""

    site: Site
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        if not self._may_enter():
            return
        if self._step() == "":
            self._send(self.site.page())
        elif self._step() == "hierarchies" and self.site.session.may_edit_hierarchies:
            self._send(self.site.hierarchies_page())
        elif self._step() == "report" and self.site.session.started is not None:
            self._send(self.site.session.started.report.read_text(encoding="utf-8"))
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        if not self._may_enter():
            return
        origin = self.headers.get("Origin")
        length = self.headers.get("Content-Length", "")
        if origin not in (None, "null", f"http://{LOOPBACK}:{self.site.port}"):
            self._refuse(HTTPStatus.FORBIDDEN)
            return
        if not length.isdigit() or int(length) > _MOST_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        body = self.rfile.read(int(length)).decode("utf-8", errors="replace")
        if self._step() == "end":
            if self.site.session.started is not None:
                self._send("<!DOCTYPE html><title>Aegis</title><p>Done: this page can be closed.</p>")
                self.site.stop()
                return
        else:
            self.site.session.take(self._step(), parse_qs(body, keep_blank_values=True, max_num_fields=10_000))
        self.send_response(HTTPStatus.SEE_OTHER)
        back_to = "hierarchies" if self._step() == "hierarchies" else ""
        self.send_header("Location", f"/{self.site.token}/{back_to}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _may_enter(self) -> bool:
        """Whether the request names the loopback address and knows the token."""
        if self.headers.get("Host") != f"{LOOPBACK}:{self.site.port}":
            self._refuse(HTTPStatus.FORBIDDEN)
            return False
        parts = self.path.split("?", 1)[0].split("/")
        if len(parts) != 3 or not secrets.compare_digest(parts[1].encode(), self.site.token.encode()):
            self._refuse(HTTPStatus.NOT_FOUND)
            return False
        return True

    def _step(self) -> str:
        return self.path.split("?", 1)[0].split("/")[2]

    def _send(self, page: str) -> None:
        content = page.encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()
