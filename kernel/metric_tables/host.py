"""The JVM, the process and the machine below it: what a broker needs to live."""

from typing import Any

from kernel.metric_tables.rows import counter, gauge, own, state, summary
from kernel.metrics import EVERY_ROLE, Kind, Metric, Scope

_MEMORY = "java.lang:type=Memory"
_OS = "java.lang:type=OperatingSystem"
_THREADS = "java.lang:type=Threading"
_BUFFERS = "java.nio:type=BufferPool,name={pool}"
_JVM: dict[str, Any] = {"roles": EVERY_ROLE, "scope": Scope.JVM}
_MACHINE: dict[str, Any] = {"roles": EVERY_ROLE, "scope": Scope.OS}
_DIRECTORY: dict[str, Any] = {"roles": EVERY_ROLE, "scope": Scope.OS, "unit": "bytes", "star": True}
_AREAS: dict[str, Any] = {"heap": "HeapMemoryUsage", "nonheap": "NonHeapMemoryUsage"}


def _memory(part: str, help: str, **more: object) -> tuple[Metric, ...]:  # noqa: A002
    name = f"jvm_memory_{part}_bytes"
    return tuple(
        gauge(
            _MEMORY,
            help,
            f"{usage}.{part}",
            name=name,
            fixed={"area": area},
            unit="bytes",
            native=True,
            star=area == "heap",
            **(_JVM | more),
        )
        for area, usage in _AREAS.items()
    )


ROWS = (
    *_memory("used", "Memory the JVM uses."),
    *_memory("committed", "Memory the JVM has from the operating system."),
    *_memory("max", "Memory the JVM may have; none is told where there is no limit.", sentinels=(-1.0,)),
    summary(
        "java.lang:type=GarbageCollector,name={gc}",
        "Garbage collections and the time they took.",
        "CollectionCount",
        total="CollectionTime",
        factor=1e-3,
        name="jvm_gc_collection_seconds",
        unit="seconds",
        star=True,
        native=True,
        **_JVM,
    ),
    gauge(_THREADS, "Threads of the JVM.", "ThreadCount", name="jvm_threads_current", star=True, native=True, **_JVM),
    gauge(_THREADS, "Most threads the JVM ever had.", "PeakThreadCount", name="jvm_threads_peak", native=True, **_JVM),
    gauge(
        _BUFFERS,
        "Memory in buffers outside the heap; mapped: index files of the log.",
        "MemoryUsed",
        name="jvm_buffer_pool_used_bytes",
        unit="bytes",
        native=True,
        **_JVM,
    ),
    gauge(
        _OS, "Open file descriptors.", "OpenFileDescriptorCount", name="process_open_fds", star=True, native=True, **_MACHINE
    ),
    gauge(
        _OS,
        "File descriptors the process may open.",
        "MaxFileDescriptorCount",
        name="process_max_fds",
        star=True,
        native=True,
        **_MACHINE,
    ),
    gauge(_OS, "Swap space that is free.", "FreeSwapSpaceSize", unit="bytes", star=True, **_MACHINE),
    gauge(_OS, "Swap space in all.", "TotalSwapSpaceSize", unit="bytes", star=True, **_MACHINE),
    counter(
        _OS,
        "Processor time of the process.",
        "ProcessCpuTime",
        name="process_cpu_seconds_total",
        unit="seconds",
        factor=1e-9,
        native=True,
        **_MACHINE,
    ),
    gauge(
        _OS,
        "Share of the machine's processors that the process uses, 0 to 1.",
        "ProcessCpuLoad",
        unit="ratio",
        least=0,
        **_MACHINE,
    ),
    gauge(_OS, "Load of the machine, over one minute.", "SystemLoadAverage", least=0, **_MACHINE),
    gauge(_OS, "Processors of the machine.", "AvailableProcessors", **_MACHINE),
    gauge(_OS, "Memory of the machine that is free.", "FreeMemorySize", unit="bytes", **_MACHINE),
    gauge(_OS, "Memory of the machine.", "TotalMemorySize", unit="bytes", **_MACHINE),
    gauge(
        "java.lang:type=Runtime",
        "When the process began, in seconds since 1970.",
        "StartTime",
        name="process_start_time_seconds",
        unit="seconds",
        factor=1e-3,
        native=True,
        **_MACHINE,
    ),
    gauge(
        "kafka.server:type=KafkaServer,name=BrokerState",
        "1 starting, 2 recovering, 3 running, 6 asking to shut down, 7 shutting down.",
    ),
    counter(
        "kafka.server:type=KafkaServer,name=linux-disk-read-bytes",
        "Bytes the process read from disk.",
        "Value",
        unit="bytes",
    ),
    counter(
        "kafka.server:type=KafkaServer,name=linux-disk-write-bytes",
        "Bytes the process wrote to disk.",
        "Value",
        unit="bytes",
    ),
    own(
        "kafka_log_dir_free_bytes",
        Kind.GAUGE,
        "Space left on the disk of a log directory.",
        "dir",
        **_DIRECTORY,
        note="Not in JMX: looked up on this host or in the broker's container.",
    ),
    own("kafka_log_dir_total_bytes", Kind.GAUGE, "Size of the disk of a log directory.", "dir", **_DIRECTORY),
    state(
        "kafka.server:type=app-info",
        "Kafka's version on this node.",
        "version",
        name="kafka_server_app_version",
        word="version",
        roles=EVERY_ROLE,
        scope=Scope.NODE,
    ),
)
