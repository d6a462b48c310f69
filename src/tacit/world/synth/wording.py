"""Words people put around a topic, and the errands everybody runs: the parts of queries that no
dictionary of topics holds."""

from __future__ import annotations

__all__ = ["BEFORE", "AFTER", "ERRANDS"]

BEFORE = """
free|how to make|cheap|best|what is|buy|new|pictures of|history of|used|online|types of|famous|
homemade|antique|world's|facts about|where to buy|list of|old|small|big|american|local|
modern|ancient|how to draw|meaning of|causes of|parts of|about|discount|custom|vintage|wild|giant|learn
""".replace("\n", "").split("|")
"""What stands before a topic, most frequent first."""

AFTER = """
pictures|for sale|history|information|for kids|facts|lyrics|store|free|online|online free|names|definition|
prices|2006|com|club|photos|books|repair|jobs|reviews|video|school|company|music|games|supplies|art|world|
museum|association|symptoms|center|laws|parts|quotes|service|symbol|forum|stories|rental|shop|dealers|
show|news|recipes|tips|guide|help|magazine|in america|care|design|types|size|color|uses|society|ideas|
clip art|poems|drawings|training|song|movie|wallpaper|review|map|kit|tattoo|costume|toys|plans|problems|
diagram|timeline|statistics|catalog|foundation|ratings|project|experiment|gifts|insurance|t shirts|patterns
""".replace("\n", "").split("|")
"""What stands after a topic, most frequent first."""

ERRANDS = """
google|weather|map|dictionary|lottery|newspaper|bank|airline|hotel|game|music|bible|horoscope|recipe|
internet|world wide web|calculator|thesaurus|encyclopedia|new york|california|florida|texas|las vegas|
white house|post office|library|university|police|hospital|baseball|football|basketball|golf|auto racing|
soccer|poker|television|movie|radio|song|job|house|apartment|car|motorcycle|truck|boat|dog|cat|horse|
furniture|clothing|shoe|wedding|baby|birthday|flower|jewelry|ring|tattoo|haircut|hair|perfume|lipstick|
diet|vitamin|pizza|wine|beer|coffee|chocolate|cake|chicken|restaurant|pharmacy|dentist|lawyer|insurance|
mortgage|loan|credit card|stock market|tax|irs|passport|social security|medicare|army|navy|air force|
harvard university|yale university|new york city|chicago|los angeles|san francisco|boston|atlanta|houston|
dallas|philadelphia|detroit|seattle|miami|hawaii|mexico|canada|england|france|italy|japan|china|germany|
ireland|australia|disneyland|zoo|museum|park|beach|camping|fishing|hunting|gun|computer|printer|software|
telephone|camera|clock|calendar|holiday|easter|mother's day|christmas|halloween|church|school|college|
scholarship|teacher|student|history|geography|mathematics|science|biology|chemistry|physics|astronomy|
poem|book|magazine|comic strip|cartoon|picture|photograph|art|dance|yoga|exercise|swimming|tennis|bowling|
wrestling|boxing|running|bicycle|garden|tree|grass|tool|paint|kitchen|bathroom|bed|chair|table|lamp
""".replace("\n", "").split("|")
"""Where everybody goes now and then, most frequent first: each is a noun that WordNet knows."""
