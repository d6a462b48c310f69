"""HTML: the one Jinja environment of the project, with every value escaped and every unknown name an error.

A room keeps its templates in a folder ``templates`` beside its code. All of them may use the shared ones in
``tacit/templates``: ``{% from "table.html.j2" import table %}``.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import jinja2

APART = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:; frame-ancestors 'none'"
)
"""The policy of statements and reports, which bring style and script in the page itself: where a server shows
one beside pages of its own, it runs in a place of its own, from which it reaches nothing."""


def templates(package: str = "tacit", **filters: Callable[..., Any]) -> jinja2.Environment:
    """Return the environment for the templates of a package, with filters of its own by name."""
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader(each) for each in dict.fromkeys((package, "tacit"))]
        ),
        autoescape=True,
        auto_reload=False,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters)
    return environment


_template = cache(lambda package, name: templates(package).get_template(name))


def render(package: str, template: str, **values: Any) -> str:
    """Return a page made of these values by a package's template; templates are compiled once."""
    return str(_template(package, template).render(**values))
