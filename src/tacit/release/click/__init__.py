"""A_Click (thesis 002, chapter 3): query counts, click counts and transitions."""
