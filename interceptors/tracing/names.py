"""The words of OpenTelemetry's messaging conventions (1.44), written out.

They are still in development, so that opentelemetry-semantic-conventions keeps them in a module that may change any day; a
test compares them with that module where it is installed.
"""

SCOPE = "interceptors.tracing"
SCHEMA = "https://opentelemetry.io/schemas/1.44.0"

SYSTEM = "messaging.system"
OPERATION_NAME = "messaging.operation.name"
OPERATION_TYPE = "messaging.operation.type"
DESTINATION = "messaging.destination.name"
PARTITION = "messaging.destination.partition.id"
GROUP = "messaging.consumer.group.name"
CLIENT_ID = "messaging.client.id"
BATCH_COUNT = "messaging.batch.message_count"
OFFSET = "messaging.kafka.offset"
KEY = "messaging.kafka.message.key"
TOMBSTONE = "messaging.kafka.message.tombstone"
SERVER, PORT = "server.address", "server.port"
ERROR = "error.type"

OPERATION_DURATION = "messaging.client.operation.duration"
PROCESS_DURATION = "messaging.process.duration"
SENT = "messaging.client.sent.messages"
CONSUMED = "messaging.client.consumed.messages"

# The bounds that the conventions advise for both durations, in seconds.
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
