"""Our own judge: what is wrong with a group, said in words, with the figures."""
