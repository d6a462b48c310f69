"""Guard 4: publish a search log under differential privacy, with a guarantee one can check.

::

    request ──▶ plan, analysis        parameters for an ε, and what parameters provably guarantee
       │
       ▼
    mechanism  zealous · click · session · k_query
       │            on  preparation (period, scrub), contribution (bounds), engines (Ibis on DuckDB)
       │            with  thresholding (noise), pool and surfaced (public sets)
       ▼
    publication  check, count, charge the ledger, draw noise, write, note
       │
       ▼
    manifest · page · verify
"""

__all__: list[str] = []
