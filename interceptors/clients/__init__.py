"""confluent-kafka's clients, each with a chain of interceptors."""
