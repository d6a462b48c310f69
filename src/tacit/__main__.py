"""``python -m tacit`` is the ``tacit`` command."""

from tacit.entry import main

main()
