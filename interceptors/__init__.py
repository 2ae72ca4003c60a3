"""What Java clients have and Python never got: interceptor chains, tracing, audit."""
