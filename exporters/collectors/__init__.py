"""Ways to read a node's beans, all with the same answer: jmxquery, Jolokia, the Java agent."""
