"""Several instances: who watches and who tells, decided by a Kafka consumer group; what is open goes from hand to hand."""
