"""A proxy that knows where a Kafka request begins and ends, so that one request can be held, dropped, delayed or cut."""
