"""The tables that outlive a night, column by column. All are Parquet, partitioned by `date`, one folder each.

Whoever writes them (a scan of run folders, a stream from Kafka) writes the same rows: `summary` is what the results topic
carries, and the others are what only a run's folder knows.
"""

# One row for each run. `key` names it: date/scenario/run_id.
SUMMARY = """
    key string, run_id string, scenario string, promise string, kafka string, config string, seed bigint,
    started timestamp, duration_s double, verdict string, reasons array<string>, acknowledged bigint, `read` bigint,
    `rows` bigint, counts map<string, bigint>, permitted array<string>,
    findings array<struct<name: string, sentence: string>>,
    recovery array<struct<fault: string, kind: string, topic: string, partition: int, affected: boolean, gap_s: double,
        gap_from_s: double, censored: boolean, detect_s: double, elect_s: double, first_success_s: double,
        full_isr_s: double, drained_s: double, bound_s: double, within: boolean>>,
    folder string, date date
"""

# How long each partition of each run was dark, from the ledger.
DARKNESS = """
    key string, topic string, partition int, kind string, gaps int, longest_s double, longest_open boolean,
    dark_s double, watched_s double, date date
"""

# What happened in a run, from its events: faults, and what the monitoring said to them.
HAPPENED = """
    key string, at_s double, event string, id string, name string, state string, sentence string, end_s double,
    sent bigint, received bigint, missing bigint, duplicated bigint, completeness double, date date
"""
