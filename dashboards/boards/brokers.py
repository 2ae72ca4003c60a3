"""One broker or all of them: where requests spend their time, and what the machine has left."""

from collections.abc import Callable

from dashboards.board import Board, Panel, Query, Row, Step, Unit, Variable, Word
from dashboards.boards.names import HANDLERS, MANAGER, NETWORK, REQUEST, SOCKETS, SYSTEM, TOPIC
from dashboards.expressions import each, each_rate, mean
from dashboards.panels import ANY, ORANGE, RED, level, lines, means, quantiles, rates, states, table

NODE = 'node=~"$node", node!=""'  # what else is scraped has a process, too
HEAP = f'{NODE}, area="heap"'
PHASES = {
    "requestqueuetimems": "waits for a handler",
    "localtimems": "at work on this broker",
    "remotetimems": "waits for others",
    "throttletimems": "held back by a quota",
    "responsequeuetimems": "answer waits for a network thread",
    "responsesendtimems": "answer on its way out",
}
STATES = (
    Word(0, "not running", RED), Word(1, "starting", ORANGE), Word(2, "recovering", ORANGE), Word(3, "running", "green"),
    Word(6, "about to shut down", ORANGE), Word(7, "shutting down", ORANGE),
)  # fmt: skip
QUOTA = "kafka_server_quota_"
OPEN, MOST = "process_open_fds", "process_max_fds"
FREE, ALL = "kafka_log_dir_free_bytes", "kafka_log_dir_total_bytes"
NO_DISKS = 'The exporter does not look at disks: host = "local" or "containers" in its file.'
NO_QUOTA = "No quota applies to any client."


def _phases(request: str, empty: str) -> Row:
    """Stacked, the means of the phases are the mean of the whole; a quantile could not be stacked."""
    where = f'request="{request}", {NODE}'
    stack = lines(
        f"{request}: where the time goes",
        *(
            Query(f"avg by (cluster) ({mean(f'{REQUEST}{phase}', where, by='request')})", f"{{{{cluster}}}} {words}")
            for phase, words in PHASES.items()
        ),
        of=tuple(f"{REQUEST}{phase}" for phase in PHASES),
        unit="ms",
        stacked=True,
        empty=empty,
        width=12,
        height=8,
    )
    whole = quantiles(
        f"{request}: all but one in a hundred", f"{REQUEST}totaltimems", where=where, empty=empty, width=12, height=8
    )
    return Row(f"{request} requests", (stack, whole))


STATE = Row(
    "State",
    (
        states("State of each broker", "kafka_server_kafkaserver_brokerstate", STATES, NODE, width=12),
        level("Partitions and leaders", f"{MANAGER}partitioncount", f"{MANAGER}leadercount", where=NODE, width=12),
        table(
            "Versions and starts",
            Query(each("kafka_server_app_version", NODE, "version"), column="nodes", unit="none"),
            Query(f"{each('process_start_time_seconds', NODE)} * 1000", column="started", unit="dateTimeFromNow"),
            of=("kafka_server_app_version", "process_start_time_seconds"),
            hidden=("nodes",),
            height=6,
        ),
        level("Under-replicated, by leader", f"{MANAGER}underreplicatedpartitions", where=NODE),
        level("Behind their leaders", "kafka_server_replicafetchermanager_maxlag", where=NODE, why="In records."),
        level(
            "Replicas that no longer follow",
            "kafka_server_replicafetchermanager_failedpartitionscount",
            "kafka_server_replicafetchermanager_deadthreadcount",
            where=NODE,
            steps=ANY,
        ),
    ),
)

THREADS = Row(
    "Threads and queues",
    (
        rates("Handlers idle", f"{HANDLERS}requesthandleravgidle_seconds_total", where=NODE, least=0, most=1),
        rates(
            "Handlers idle, of brokers and of controllers",
            f"{HANDLERS}brokerrequesthandleravgidle_seconds_total",
            f"{HANDLERS}controllerrequesthandleravgidle_seconds_total",
            where=NODE,
            least=0,
            most=1,
        ),
        level("Network threads idle", f"{NETWORK}networkprocessoravgidle_percent", where=NODE, least=0, most=1),
        level(
            "Queues",
            "kafka_network_requestchannel_requestqueuesize",
            "kafka_network_requestchannel_responsequeuesize",
            where=NODE,
        ),
        level(
            "Requests that wait for something",
            "kafka_server_delayedoperationpurgatory_purgatorysize",
            where=f'{NODE}, delayed_operation=~"Produce|Fetch"',
            by="delayed_operation",
        ),
        level("Memory of requests in flight", f"{NETWORK}memorypoolused", where=NODE),
        rates(
            "Requests", f"{REQUEST}requests_total", where=NODE, by="request", empty="Nobody asks this broker for anything."
        ),
        rates(
            "Answers that are errors",
            f"{REQUEST}errors_total",
            where=f'{NODE}, error!="NONE"',
            by="request, error",
            empty="No answer was an error.",
        ),
        rates("Acceptor blocked", "kafka_network_acceptor_acceptorblocked_seconds_total", where=NODE, by="listener"),
    ),
)


def _sockets(title: str, name: str, of_each: Callable[[str, str, str], str], unit: Unit) -> Panel:
    """Network threads are of no interest here: added up by listener."""
    inner = of_each(f"{SOCKETS}{name}", NODE, "listener, network_processor")
    query = Query(f"sum by (cluster, node, listener) ({inner})", "{{cluster}} {{node}} {{listener}}")
    return lines(title, query, of=(f"{SOCKETS}{name}",), unit=unit)


CONNECTIONS = Row(
    "Connections",
    (
        _sockets("Connections", "connections", each, "short"),
        _sockets("New connections", "connection_creation_total", each_rate, "cps"),
        _sockets("Logins that failed", "failed_authentication_total", each_rate, "cps"),
    ),
)

JVM = Row(
    "JVM",
    (
        level("Heap used", "jvm_memory_used_bytes", where=HEAP),
        lines(
            "Heap used, of what it may be",
            Query(
                f"{each('jvm_memory_used_bytes', HEAP)} / {each('jvm_memory_max_bytes', HEAP)}",
                "{{cluster}} {{node}}",
            ),
            of=("jvm_memory_used_bytes", "jvm_memory_max_bytes"),
            unit="percentunit",
            least=0,
            most=1,
        ),
        rates("Time in garbage collection", "jvm_gc_collection_seconds_sum", where=NODE, by="gc", unit="percentunit"),
        rates("Garbage collections", "jvm_gc_collection_seconds_count", where=NODE, by="gc"),
        level("Memory outside the heap", "jvm_memory_used_bytes", where=f'{NODE}, area="nonheap"'),
        level("Buffers", "jvm_buffer_pool_used_bytes", where=NODE, by="pool"),
        level("Memory from the operating system", "jvm_memory_committed_bytes", where=NODE, by="area"),
        level("Threads", "jvm_threads_current", "jvm_threads_peak", where=NODE),
        rates("Processors used", "process_cpu_seconds_total", where=NODE, unit="short"),
    ),
)

MACHINE = Row(
    "Machine",
    (
        lines(
            "Disk free",
            Query(f"{each(FREE, NODE, 'dir')} / {each(ALL, NODE, 'dir')}", "{{cluster}} {{node}} {{dir}}"),
            of=(FREE, ALL),
            unit="percentunit",
            least=0,
            most=1,
            empty=NO_DISKS,
        ),
        level("Disk left", FREE, where=NODE, by="dir", empty=NO_DISKS),
        level(
            "Log directories offline",
            "kafka_log_logmanager_logdirectoryoffline",
            where=NODE,
            by="log_directory",
            steps=ANY,
        ),
        lines(
            "File descriptors used",
            Query(f"{each(OPEN, NODE)} / {each(MOST, NODE)}", "{{cluster}} {{node}}"),
            of=(OPEN, MOST),
            unit="percentunit",
            least=0,
            most=1,
            steps=(Step(0.8, RED),),
        ),
        lines(
            "Swap used",
            Query(
                f"{each(f'{SYSTEM}totalswapspacesize', NODE)} - {each(f'{SYSTEM}freeswapspacesize', NODE)}",
                "{{cluster}} {{node}}",
            ),
            of=(f"{SYSTEM}totalswapspacesize", f"{SYSTEM}freeswapspacesize"),
            unit="bytes",
            why="A broker that swaps is slow in a way that nothing else explains.",
        ),
        level("System load", f"{SYSTEM}systemloadaverage", f"{SYSTEM}availableprocessors", where=NODE),
        rates(
            "Disk read and written",
            "kafka_server_kafkaserver_linux_disk_read_bytes_total",
            "kafka_server_kafkaserver_linux_disk_write_bytes_total",
            where=NODE,
        ),
        means(
            "Time of a log flush", "kafka_log_logflushstats_logflushrateandtimems", where=NODE, empty="Nothing was flushed."
        ),
        level("Memory free", f"{SYSTEM}freememorysize", where=NODE),
    ),
)

CLEANER = Row(
    "Log cleaner and quotas",
    (
        level(
            "Cleaner threads that died",
            "kafka_log_logcleaner_deadthreadcount",
            where=NODE,
            steps=ANY,
        ),
        level(
            "Partitions that cannot be cleaned",
            "kafka_log_logcleanermanager_uncleanable_partitions",
            where=NODE,
            by="log_directory",
            steps=ANY,
        ),
        level("Since the cleaner last ran", "kafka_log_logcleanermanager_time_since_last_run_seconds", where=NODE),
        level(
            "Bytes per second of clients with a quota",
            f"{QUOTA}produce_byte_rate",
            f"{QUOTA}fetch_byte_rate",
            where=NODE,
            by="user, client_id",
            unit="Bps",
            empty=NO_QUOTA,
        ),
        level(
            "Clients held back",
            *(f"{QUOTA}{kind}_throttle_time" for kind in ("produce", "fetch", "request")),
            where=NODE,
            by="user, client_id",
            empty=NO_QUOTA,
        ),
        rates("Bytes in and out", f"{TOPIC}bytesin_total", f"{TOPIC}bytesout_total", where=NODE),
    ),
)

BOARD = Board(
    uid="kafka-trial-brokers",
    title="Kafka: brokers",
    description=__doc__,
    rows=(
        STATE,
        _phases("Produce", "Nobody produces."),
        _phases("FetchConsumer", "Nobody consumes."),
        _phases("FetchFollower", "No broker follows another."),
        THREADS,
        CONNECTIONS,
        JVM,
        MACHINE,
        CLEANER,
    ),
    variables=(Variable("cluster", "Cluster", "kafka_jmx_up"), Variable("node", "Node", "kafka_jmx_up")),
)
