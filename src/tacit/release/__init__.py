"""Guard 4: publish a search log under differential privacy, with a guarantee one can check.

::

    mechanisms/   zealous · click · session · adaptive · topics · k_query     what is asked (registry)
       │  plan()
       ▼
    a plan        its schedule: what will be drawn and compared, as data
       ├──▶ analysis      guarantee, charges and the ledger's event, computed from the schedule
       ├──▶ counting      bounded, on preparation, contribution and engines (Ibis on DuckDB)
       ├──▶ execution     noise and comparison, carried out by the schedule
       ├──▶ prose         what it means, for the terminal and the page
       ├──▶ forecast      how many rows to expect
       ▼
    publication   check, count, charge the ledger, draw noise, write, note
       ▼
    document/ (manifest, page, tables) · verify

Adding a mechanism: two modules, one line of the registry, its page in the docs.
"""
