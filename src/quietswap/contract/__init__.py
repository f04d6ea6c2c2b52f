"""The wire contract: every member of every request and response, declared once.

The service encodes these Structs, the client decodes them, and the OpenAPI document is generated
from them. A member's `Meta` holds its description with the unit, an example and JSON Schema.
"""
