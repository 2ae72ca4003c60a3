"""An end-to-end canary: what does a client get from the cluster right now, from each broker and each partition?"""
