"""Bringing a history along: from a browser's own files, an archive of Google's, bookmarks, or a click log.

Every reader gives :class:`Visit`: pages the person opened. Pages that only list search results are left out.
"""

from tacit.web.imports.archives import takeout_visits
from tacit.web.imports.bookmarks import bookmark_visits
from tacit.web.imports.browsers import BrowserHistory, browser_histories, browser_visits
from tacit.web.imports.recognise import visits_of
from tacit.web.imports.visit import Visit

__all__ = [
    "BrowserHistory",
    "Visit",
    "bookmark_visits",
    "browser_histories",
    "browser_visits",
    "takeout_visits",
    "visits_of",
]
