"""Messages of Kafka's protocol that no Python client has yet, in the form in which kafka-python reads its own."""
