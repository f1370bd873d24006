"""`periplus map`: explore a site, group and learn its screens, draw the knowledge base, tell a person."""
