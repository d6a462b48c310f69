"""A_Session (thesis 002, chapter 4): ordered subsequences of sessions, and clicks beside them."""
