"""`dump`: what lies in the files of a broker, as rows, as columns, or in the words of kafka-dump-log."""
