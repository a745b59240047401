"""What a page must not do, noted while a test runs."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, Dialog, Page, Request

LOCAL = ("file:", "data:", "blob:", "about:")
NOTE_VIOLATIONS = """
window.__violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.__violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""


@dataclass
class Complaints:
    """What went wrong in the pages of a test; `expected` names parts of what a test provokes itself."""

    found: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)
    origins: set[str] = field(default_factory=set)

    def forget(self) -> None:
        """A new test begins."""
        for part in (self.found, self.expected, self.origins):
            part.clear()

    def watch(self, context: BrowserContext) -> None:
        context.add_init_script(NOTE_VIOLATIONS)
        context.on("console", lambda line: self._note("console", line.text) if line.type == "error" else None)
        context.on("weberror", lambda error: self._note("error", str(error.error)))
        context.on("dialog", self._dialog)
        context.on("request", self._request)

    def _note(self, kind: str, text: str) -> None:
        if not any(part in text for part in self.expected):
            self.found.append(f"{kind}: {text}")

    def _dialog(self, dialog: Dialog) -> None:
        self._note("dialog", f"{dialog.type} {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        origin = f"{parts.scheme}://{parts.netloc}"
        if not request.url.startswith(LOCAL) and origin not in self.origins:
            self._note("request to another origin", request.url)

    def look(self, page: Page) -> None:
        """Notes what the content security policy refused."""
        if not page.is_closed():
            page.wait_for_load_state()  # a page that is on its way to another one has no answer
            for line in page.evaluate("window.__violations || []"):
                self._note("content security policy", line)
