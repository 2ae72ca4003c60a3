"""Producers and consumers in processes of their own, and the ledger they keep."""
