"""A series: publications week after week under one charge (docs/guarantees/series.md).

- :mod:`~tacit.release.series.course`: who holds what so far, and a week's rounds and counts on it
- :mod:`~tacit.release.series.state`: the same at rest, encrypted
- :mod:`~tacit.release.series.folder`: opening a series, its weeks, erasing somebody, closing it
- :mod:`~tacit.release.series.page`: the page of the whole series
"""
