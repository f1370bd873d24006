"""Jobs of the service: tasks, verifications, maps and demos that are run now or on a schedule, and webhooks about them."""
