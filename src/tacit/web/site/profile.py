"""The profile page: interests, forgetting and undoing it; and the page of what is never sent."""

from __future__ import annotations

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.errors import InputError
from tacit.web.site.site import Site, own_address
from tacit.web.topics import readable_topic

_BUSIEST = 24
_FOUND = 60
_MOST_TO_MARK = 1_000
_SEVERAL = 1.5
"""Pages that make an interest."""


def routes(site: Site) -> list[Route]:
    """The routes of the profile."""
    page = _ProfilePage(site)
    return [
        Route("/profile", page.show),
        Route("/profile/sensitive", page.sensitive, methods=["POST"]),
        Route("/never-sent", page.never_sent),
        Route("/never-sent/seen", page.seen, methods=["POST"]),
        Route("/profile/forget", page.forget, methods=["POST"]),
        Route("/profile/forget-page", page.forget_page, methods=["POST"]),
        Route("/undo/{key}", page.undo, methods=["POST"]),
    ]


class _ProfilePage:
    def __init__(self, site: Site) -> None:
        self._site = site

    async def show(self, request: Request) -> Response:
        """Show the person's interests, the topics that a word finds, and what was read."""
        word = " ".join(request.query_params.get("find", "").split())[:100]
        return await to_thread.run_sync(self._drawn, request, word)

    def _drawn(self, request: Request, word: str) -> Response:
        guard = self._site.guard
        return self._site.render(
            request,
            "profile.html",
            documents=guard.topic().documents,
            interests=[one for one in guard.busiest(_BUSIEST) if one.documents >= _SEVERAL],
            found=guard.find(word, limit=_FOUND) if word else None,
            word=word,
            marks=sorted(guard.sensitive_topics()),
            concepts=guard.concepts(),
            confirmed=guard.confirmed,
            history=guard.history(limit=20),
            for_all=self._for_all(),
        )

    def _for_all(self) -> frozenset[str]:
        """List the labels of what is sensitive for everybody."""
        root = self._site.guard.topic().label
        return frozenset(f"{root}/{one.name}" for one in self._site.guard.concepts())

    async def never_sent(self, request: Request) -> Response:
        """Show what is sensitive for everybody, what the person marked, and how well it is recognised."""
        return await to_thread.run_sync(self._listed, request)

    def _listed(self, request: Request) -> Response:
        guard, for_all = self._site.guard, self._for_all()
        leaves = [one for one in guard.find("", limit=_MOST_TO_MARK) if not one.children]
        return self._site.render(
            request,
            "never_sent.html",
            concepts=guard.concepts(),
            confirmed=guard.confirmed,
            marks=sorted(guard.sensitive_topics()),
            topics=sorted(
                (one for one in leaves if not _within(one.label, for_all)), key=lambda one: one.name
            ),
        )

    async def seen(self, request: Request) -> Response:
        """Remember that the person has looked at the list; interests may go out from now on."""
        form = await request.form(max_files=0)
        await to_thread.run_sync(self._site.guard.confirm)
        self._site.changed()
        said = "Noted. Interests may go out with a query now, to engines that take them."
        return self._site.done(own_address(form.get("back"), "/never-sent"), said)

    async def sensitive(self, request: Request) -> Response:
        """Keep a topic of one's own out of all that leaves, or no longer."""
        form = await request.form(max_files=0)
        label = str(form.get("topic", ""))
        try:
            weight = float(str(form.get("weight", "")))
        except ValueError as error:
            raise InputError("the sensitivity must be a number.") from error
        guard = self._site.guard
        before = await to_thread.run_sync(guard.sensitive, label)
        await to_thread.run_sync(guard.sensitive, label, weight)
        self._site.changed()
        name = readable_topic(label)

        def undo() -> str:
            guard.sensitive(label, before)
            return f"{name} is as it was before."

        said = f"“{name}” is never sent from now on, and pages about it have no influence on what is."
        if weight == 0:
            said = f"“{name}” is no longer marked."
        return self._site.done(own_address(form.get("back"), "/profile#interests"), said, undo)

    async def forget(self, request: Request) -> Response:
        """Forget every page about a topic."""
        form = await request.form(max_files=0)
        label = str(form.get("topic", ""))
        guard = self._site.guard
        gone = await to_thread.run_sync(lambda: guard.forget(topic=label))
        self._site.changed()

        def undo() -> str:
            return f"{guard.restore(gone.documents):,} pages are back."

        name = readable_topic(label)
        return self._site.done(
            own_address(form.get("back"), "/profile#interests"),
            f"{gone.clicks:,} pages about “{name}” are forgotten.",
            undo,
        )

    async def forget_page(self, request: Request) -> Response:
        """Forget one page of the history."""
        form = await request.form(max_files=0)
        number = str(form.get("number", ""))
        if not number.isdigit():
            raise InputError("say which page to forget.")
        guard = self._site.guard
        gone = await to_thread.run_sync(lambda: guard.forget(click=int(number)))
        self._site.changed()

        def undo() -> str:
            guard.restore(gone.documents)
            return "The page is back."

        return self._site.done("/profile#history", "The page is forgotten.", undo)

    async def undo(self, request: Request) -> Response:
        """Undo what was done last."""
        said = await to_thread.run_sync(self._site.undo, request.path_params["key"])
        form = await request.form(max_files=0)
        back = own_address(form.get("back"), "/profile")
        if said is None:
            return self._site.done(back, "That cannot be undone any more.", problem=True)
        return self._site.done(back, said)


def _within(label: str, labels: frozenset[str]) -> bool:
    """Whether a topic is one of some, or lies right below one."""
    return label in labels or label.rpartition("/")[0] in labels
