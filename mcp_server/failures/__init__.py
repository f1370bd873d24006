"""Why did it fail? From what is known of a failure to the likeliest causes and what to call next.

`case` gathers the evidence, `causes` are the explanations that are tried (each a registered function),
`explain` puts them in order. Nothing here asks a store: runs are looked up by the tool.
"""
