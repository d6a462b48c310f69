"""The profile page: interests, forgetting and undoing it; and the page of what is never sent."""

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.errors import InputError
from tacit.web.addresses import readable_topic
from tacit.web.site.site import Notice, Site

_INTERESTS = "/profile#interests"
_BUSIEST, _FOUND, _MOST_TO_MARK, _SEVERAL = 24, 60, 1_000, 1.5


def routes(site: Site) -> list[Route]:
    page = _ProfilePage(site)
    return [
        Route("/profile", page.show),
        Route("/never-sent", page.never_sent),
        site.form("/never-sent/seen", page.seen, "/never-sent"),
        site.form("/profile/sensitive", page.sensitive, _INTERESTS),
        site.form("/profile/forget", page.forget, _INTERESTS),
        site.form("/profile/forget-page", page.forget_page, "/profile#history"),
    ]


class _ProfilePage:
    def __init__(self, site: Site) -> None:
        self._site = site

    def show(self, request: Request) -> Response:
        guard = self._site.guard
        word = " ".join(request.query_params.get("find", "").split())[:100]
        asked = request.query_params.get("older", "")[:9]
        older = int(asked) if asked.isascii() and asked.isdigit() else 0
        return self._site.render(
            request,
            "profile.html",
            interests=[one for one in guard.busiest(_BUSIEST) if one.documents >= _SEVERAL],
            found=guard.find(word, limit=_FOUND) if word else None,
            word=word,
            history=guard.history(limit=21, offset=older),
            older=older,
            for_all=self._for_all(),
        )

    def _for_all(self) -> frozenset[str]:
        root = self._site.guard.topic().label
        return frozenset(f"{root}/{one.name}" for one in self._site.guard.concepts())

    def never_sent(self, request: Request) -> Response:
        """Show what is sensitive for everybody, what the person marked, and how well it is recognised."""
        guard, for_all = self._site.guard, self._for_all()
        leaves = [one for one in guard.find("", limit=_MOST_TO_MARK) if not one.children]
        topics = [one for one in leaves if not _within(one.label, for_all)]
        return self._site.render(request, "never_sent.html", topics=topics)

    def seen(self, _form: FormData) -> Notice:
        """Remember that the person has looked at the list; interests may go out from now on."""
        self._site.guard.confirm()
        return Notice("Noted. Interests may go out with a query now, to engines that take them.")

    def sensitive(self, form: FormData) -> Notice:
        """Keep a topic of one's own out of all that leaves, or no longer."""
        label, marked = str(form.get("topic", "")), form.get("weight") != "0"
        guard, name = self._site.guard, readable_topic(label)
        before = guard.sensitive(label)
        guard.sensitive(label, float(marked))
        said = (
            f"“{name}” is never sent from now on, and pages about it have no influence on what is."
            if marked
            else f"“{name}” is no longer marked."
        )
        return Notice(said, lambda: guard.sensitive(label, before))

    def forget(self, form: FormData) -> Notice:
        label, guard = str(form.get("topic", "")), self._site.guard
        gone = guard.forget(topic=label)
        said = f"{gone.clicks:,} pages about “{readable_topic(label)}” are forgotten."
        return Notice(said, lambda: guard.restore(gone.documents))

    def forget_page(self, form: FormData) -> Notice:
        number, guard = str(form.get("number", "")), self._site.guard
        if not (number.isascii() and number.isdigit()):
            raise InputError("say which page to forget.")
        gone = guard.forget(click=int(number))
        return Notice("The page is forgotten.", lambda: guard.restore(gone.documents))


def _within(label: str, labels: frozenset[str]) -> bool:
    """Whether a topic is one of some, or lies right below one."""
    return label in labels or label.rpartition("/")[0] in labels
