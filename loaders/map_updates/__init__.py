"""What has changed on a mapped website: compared with its knowledge, reported, and applied."""
