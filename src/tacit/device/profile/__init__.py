"""The profile: its file, the history, the public topic repository, and how documents are filed."""
