"""The pages of the site, one module per area; each offers its ``routes``."""
