"""Who learns the address, and who the content: sealing, tokens, and the join file that names the parties."""
