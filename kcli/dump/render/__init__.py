"""How `dump` shows blocks of a log: rows, text of kafka-dump-log, fields byte by byte, Arrow."""
