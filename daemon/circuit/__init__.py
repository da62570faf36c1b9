"""A circuit breaker for each provider: while one fails again and again, nothing is paid but a probe now and then."""
