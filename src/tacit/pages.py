"""HTML: the one Jinja environment of the project, with every value escaped and every unknown name an error.

A room keeps its templates in a folder ``templates`` beside its code. All of them may use the shared ones in
``tacit/templates``: ``{% from "table.html.j2" import table %}``.
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from jinja2.bccache import Bucket

from tacit.errors import InputError
from tacit.files import atomic_file, cache_directory

APART = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:; frame-ancestors 'none'"
)
"""The policy of statements and reports, which bring style and script in the page itself: where a server shows
one beside pages of its own, it runs in a place of its own, from which it reaches nothing."""


class _Compiled(jinja2.BytecodeCache):
    """Keeps compiled templates on disk: to compile one takes longer than to fill it in.

    A file holds nothing but a template, begins with a hash of the rest, and is named after the template
    and after the code that compiles it. Whoever may write Tacit's cache may also change its code.
    """

    def _kept_at(self, bucket: Bucket) -> Path:
        compiler = jinja2.__version__.encode() + Path(__file__).read_bytes()
        return cache_directory() / f"page-{hashlib.sha256(compiler + bucket.key.encode()).hexdigest()[:32]}"

    def load_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError, InputError):
            kept = self._kept_at(bucket).read_bytes()
            if hashlib.sha256(kept[32:]).digest() == kept[:32]:
                bucket.bytecode_from_string(kept[32:])

    def dump_bytecode(self, bucket: Bucket) -> None:
        compiled = bucket.bytecode_to_string()
        with suppress(OSError, InputError), atomic_file(self._kept_at(bucket), mode=0o600) as written:
            written.write_bytes(hashlib.sha256(compiled).digest() + compiled)


def templates(package: str = "tacit", **filters: Callable[..., Any]) -> jinja2.Environment:
    """Return the environment for the templates of a package, with filters of its own by name."""
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader(each) for each in dict.fromkeys((package, "tacit"))]
        ),
        autoescape=True,
        auto_reload=False,
        bytecode_cache=_Compiled(),
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
