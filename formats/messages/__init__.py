"""Kafka's versioned messages, declared once as data: the records of the internal topics, and control records.

`declare` is the language; `reader` and `converter` make readers and JSON of it, `collector` holds what a
reader keeps besides the fields, `message` is a decoded one. `group`, `transaction`, `share_group`,
`metadata`, `remote` and `control` are the declarations; `decode` and `formats.control` are what others call.
"""
