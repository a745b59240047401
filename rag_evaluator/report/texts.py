"""Every text of the pages, by key: `part.what`. The scripts get them from here, too."""

from collections.abc import Mapping

TEXTS: Mapping[str, str] = {
    # page
    "page.skip": "Skip to content",
    # run: what was run, figures, charts
    # compare
    # table of rows
    # row
    # app: list of runs, progress
    # review
}
