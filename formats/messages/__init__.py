"""Kafka's versioned messages, declared once as data: the records of the internal topics, and control records.

`declare` is the language; `reader` and `converter` make readers and JSON of it, `flat` the text of simple
values. `group`, `transaction`, `share_group`, `metadata`, `remote` and `control` are the declarations;
`decode`, `printed` and `formats.control` are what others call.
"""
