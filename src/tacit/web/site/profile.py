"""The profile page: the topic tree, what is sensitive and how much, forgetting, and undoing it."""

from __future__ import annotations

from urllib.parse import quote

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from tacit.errors import InputError
from tacit.web.site.site import Site, own_address
from tacit.web.topics import readable_topic

WEIGHTS = ((0.0, "not sensitive"), (0.5, "somewhat"), (1.0, "sensitive"), (2.0, "very"), (5.0, "extremely"))
"""How sensitive a topic can be made on the page."""

_MOST_CHILDREN = 200
_BUSIEST = 12


def routes(site: Site) -> list[Route]:
    """The routes of the profile."""
    page = _ProfilePage(site)
    return [
        Route("/profile", page.show),
        Route("/profile/children", page.children),
        Route("/profile/sensitive", page.sensitive, methods=["POST"]),
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
            weights=WEIGHTS,
            busiest=guard.busiest(_BUSIEST),
            sensitive=guard.topics(sorted(guard.sensitive_topics())),
            history=guard.history(limit=20),
            most=_MOST_CHILDREN,
        )

    async def children(self, request: Request) -> Response:
        """The topics below one, as a part of the page."""
        label = request.query_params.get("topic", "")
        below = await to_thread.run_sync(self._site.guard.children, label)
        return HTMLResponse(
            self._site.fragment(
                "topics.html",
                nodes=below[:_MOST_CHILDREN],
                more=max(0, len(below) - _MOST_CHILDREN),
                weights=WEIGHTS,
                form_token=request.state.form_token,
                place=request.state.place,
                path=[],
                levels={},
            )
        )

    async def sensitive(self, request: Request) -> Response:
        """Make a topic sensitive, or no longer."""
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

        said = f"“{name}” is sensitive now: pages about it have no influence on what is sent."
        if weight == 0:
            said = f"“{name}” is no longer sensitive."
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
