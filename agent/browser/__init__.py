"""The browser as the guide uses it: finding and starting Chromium, looking at pages, acting on them."""
