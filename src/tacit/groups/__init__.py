"""Guard 3, groups: a profile that many people share serves a request in place of a person's own.

By default these are cohorts: public descriptions of interests, with words under differential privacy. For
comparison there are groups of words after Zhu and Xiong, "Anonymizing User Profiles for Personalized Web
Search" (TR-2010-007). What holds and what does not is on the guarantee page, ``docs/guarantees/groups.md``.

- :mod:`~tacit.groups.profiles`: weighted terms per user; :mod:`~tacit.groups.reading`: from files and logs
- :mod:`~tacit.groups.cohorts`: public cohorts, places and ranking; :mod:`~tacit.groups.words`: what is drawn
- :mod:`~tacit.groups.criterion`: when a group is safe, and what it shows; :mod:`~tacit.groups.bundling`:
  Algorithm 1, rechecked
- :mod:`~tacit.groups.report`, :mod:`~tacit.groups.language`: what attackers still learn
- :mod:`~tacit.groups.service`: the door to both services, :mod:`~tacit.groups.cohort_service` and
  :mod:`~tacit.groups.bundles`, kept in :mod:`~tacit.groups.store`
"""

from tacit.groups.bundling import Bundler, Bundling
from tacit.groups.criterion import Criterion, Representative
from tacit.groups.profiles import Profiles
from tacit.groups.service import Groups

__all__ = ["Bundler", "Bundling", "Criterion", "Groups", "Profiles", "Representative"]
