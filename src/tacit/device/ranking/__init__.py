"""Order results on the device by the history, or by an exposed profile as a server does."""
