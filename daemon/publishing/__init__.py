"""From the configuration and the journal to `skills_repo.publish`, which knows neither."""
