"""Knowledge to and from what others have: Playwright's page objects, OpenAPI, sitemaps; maps and a digest out."""
