"""Inner loops as machine code, in a folder of their own: compiled code is kept until one of them changes."""
