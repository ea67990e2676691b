"""Records of the topic __transaction_state: the state of every transactional id.

Lives in `__transaction_state-N`; written by the transaction coordinator. The truth is
`org.apache.kafka.coordinator.transaction.TransactionCoordinatorRecordSerde` with the schemas of the module
transaction-coordinator, 4.3.1. Keys and values are framed as in `__consumer_offsets`.
"""

from formats.messages.declare import by_key, declared

TRANSACTION_SCHEMAS = declared("""
TransactionLogKey 0 versions 0: transactionalId string
TransactionLogValue 0 versions 0-1 flexible 1+
    producerId                        int64
    previousProducerId                int64               1+ tag 0 = -1
    nextProducerId                    int64               1+ tag 1 = -1
    producerEpoch                     int16
    nextProducerEpoch                 int16               1+ tag 3 = -1
    transactionTimeoutMs              int32
    transactionStatus                 int8
    transactionPartitions             []PartitionsSchema  nullable: topic string, partitionIds []int32
    transactionLastUpdateTimestampMs  int64
    transactionStartTimestampMs       int64
    clientTransactionVersion          int16               1+ tag 2 = 0
""")
TRANSACTION_KEYS = by_key(TRANSACTION_SCHEMAS, "Key")
TRANSACTION_VALUES = by_key(TRANSACTION_SCHEMAS, "Value")
TRANSACTION_STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
"""By transactionStatus of a TransactionLogValue, as Kafka's TransactionState names them."""
