"""How results are drawn: rows, findings and errors in; text on a stream out.

`view` chooses types, columns, order; `structured` writes json, ndjson, csv and tsv; `table` draws for people;
`text` makes the lines of stderr; `schema` says what all of it looks like. Which engine ran is not known here.
"""
