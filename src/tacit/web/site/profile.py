"""The profile page: interests, topics, forgetting and undoing it; and the page of what is never sent."""

from __future__ import annotations

from urllib.parse import quote

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from tacit.errors import InputError
from tacit.web.site.site import Site, own_address
from tacit.web.topics import readable_topic

_MOST_CHILDREN = 200
_BUSIEST = 12
_MOST_TO_MARK = 1_000
_SEVERAL = 1.5
"""Pages that make an interest."""


def routes(site: Site) -> list[Route]:
    """The routes of the profile."""
    page = _ProfilePage(site)
    return [
        Route("/profile", page.show),
        Route("/profile/children", page.children),
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
        """The tree down to one topic, or the topics that a word finds."""
        label = request.query_params.get("topic")
        word = " ".join(request.query_params.get("find", "").split())[:100]
        return await to_thread.run_sync(self._drawn, request, label, word)

    def _drawn(self, request: Request, label: str | None, word: str) -> Response:
        guard = self._site.guard
        root = guard.topic()
        opened = guard.topic(label) if label else root
        parts = opened.label.split("/")
        path = ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]
        return self._site.render(
            request,
            "profile.html",
            root=root,
            opened=opened,
            path=path,
            levels={one: below[:_MOST_CHILDREN] for one, below in guard.unfold(opened.label).items()},
            found=guard.find(word, limit=60) if word else None,
            word=word,
            busiest=[one for one in guard.busiest(_BUSIEST) if one.documents >= _SEVERAL],
            sensitive=guard.topics(sorted(guard.sensitive_topics())),
            concepts=guard.concepts(),
            confirmed=guard.confirmed,
            history=guard.history(limit=20),
            for_all=self._for_all(),
            most=_MOST_CHILDREN,
        )

    def _for_all(self) -> frozenset[str]:
        """The labels of what is sensitive for everybody."""
        root = self._site.guard.topic().label
        return frozenset(f"{root}/{one.name}" for one in self._site.guard.concepts())

    async def children(self, request: Request) -> Response:
        """The topics below one, as a part of the page."""
        label = request.query_params.get("topic", "")
        below = await to_thread.run_sync(self._site.guard.children, label)
        return HTMLResponse(
            self._site.fragment(
                "topics.html",
                nodes=below[:_MOST_CHILDREN],
                more=max(0, len(below) - _MOST_CHILDREN),
                form_token=request.state.form_token,
                place=request.state.place,
                path=[],
                levels={},
                for_all=self._for_all(),
            )
        )

    async def never_sent(self, request: Request) -> Response:
        """What is sensitive for everybody, what the person marked, and how well it is recognised."""
        return await to_thread.run_sync(self._listed, request)

    def _listed(self, request: Request) -> Response:
        guard, for_all = self._site.guard, self._for_all()
        leaves = [one for one in guard.find("", limit=_MOST_TO_MARK) if not one.children]
        return self._site.render(
            request,
            "never_sent.html",
            concepts=guard.concepts(),
            confirmed=guard.confirmed,
            marks=guard.topics(sorted(guard.sensitive_topics())),
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
        return self._site.done(own_address(form.get("back"), f"/profile?topic={quote(label)}"), said, undo)

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
            own_address(form.get("back"), f"/profile?topic={quote(label)}"),
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
