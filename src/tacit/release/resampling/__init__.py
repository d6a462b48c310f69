"""A synthetic search log that follows a release: for tools that read logs, not tables.

It is computed from the published tables, public constants and fresh randomness, so it is post-processing of a
release: it tells nothing of anybody that the release does not, and costs nothing.

- :mod:`~tacit.release.resampling.tables`: what a release says, by the columns of its tables
- :mod:`~tacit.release.resampling.sessions`: searches linked into sessions
- :mod:`~tacit.release.resampling.people`: sessions dealt out to users, and times
- :mod:`~tacit.release.resampling.log`: records, and how well they keep what was released
"""
