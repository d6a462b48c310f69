"""Guard 3, groups: profiles are bundled until no term links to a person (p-linkability).

After Zhu and Xiong, "Anonymizing User Profiles for Personalized Web Search" (TR-2010-007). What holds
and what does not is on the guarantee page, ``docs/guarantees/groups.md``.

- :mod:`~tacit.groups.profiles`: weighted terms per user; :mod:`~tacit.groups.reading`: from files and logs
- :mod:`~tacit.groups.semantics`: synonym sets, hypernyms; :mod:`~tacit.groups.similarity`: eq. 4
- :mod:`~tacit.groups.criterion`, :mod:`~tacit.groups.loops.knowledge`: when a group is safe
- :mod:`~tacit.groups.bundling`: Algorithm 1, rechecked; :mod:`~tacit.groups.representative`: what is released
- :mod:`~tacit.groups.report`: what an attacker still learns
- :mod:`~tacit.groups.service`: groups that a service runs on, kept in :mod:`~tacit.groups.store`
"""

from tacit.groups.bundling import Bundler, Bundling
from tacit.groups.criterion import Criterion
from tacit.groups.profiles import Profiles
from tacit.groups.representative import Representative
from tacit.groups.semantics import Semantics
from tacit.groups.service import Groups
from tacit.groups.similarity import similarity

__all__ = [
    "Bundler",
    "Bundling",
    "Criterion",
    "Groups",
    "Profiles",
    "Representative",
    "Semantics",
    "similarity",
]
