"""The OpenAPI 3.1 document and the documentation page, generated from routes and contract.

Excludes hand-written field declarations.
"""
