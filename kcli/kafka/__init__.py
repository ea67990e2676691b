"""What a broker makes of its files: Kafka's rules, in rooms with the names of Kafka's packages."""
