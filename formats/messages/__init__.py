"""Kafka's versioned messages, declared once as data: the records of the internal topics.

`declare` is the language, `reader` and `converter` make readers and JSON of it;
`group`, `transaction`, `share_group` and `metadata` are the declarations;
`decode` is what others call.
"""
