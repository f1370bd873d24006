"""From traces to workflows (MA): six stages, each a module with a type in and a type out.

collecting -> evaluating -> normalising, converting -> aligning -> extracting -> synthesizing and
lowering, validating; `pipeline` puts them in their order.
"""
