"""The anomalies of the evidence's contract as operations on frames, for ledgers of any size."""
