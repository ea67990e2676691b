package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.coordinator.transaction.TransactionLog;
import org.apache.kafka.coordinator.transaction.TransactionMetadata;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Records of __transaction_state, as TransactionStateManager.loadTransactionMetadata takes them from TransactionLog. */
final class Transactions {

    private Transactions() { }

    static Object answer(JsonNode request) {
        Map<String, Object> states = new TreeMap<>();
        List<Integer> passedOver = new ArrayList<>();
        int number = 0;
        Map<String, Object> error = null;
        for (JsonNode record : request.get("records")) {
            try {
                ByteBuffer key = buffer(record.get(0));
                if (key == null) throw new IllegalArgumentException("requirement failed");
                TransactionLog.ReadResult read = TransactionLog.read(key, buffer(record.get(1)));
                if (read instanceof TransactionLog.TxnRecord found) states.put(found.transactionId(), state(found.metadata()));
                else if (read instanceof TransactionLog.TxnTombstone found) states.remove(found.transactionId());
                else passedOver.add(number);
            } catch (Throwable thrown) {
                error = Json.error(thrown);
                break;
            }
            number++;
        }
        return Json.object("read", number, "error", error, "passed_over", passedOver, "states", states);
    }

    private static ByteBuffer buffer(JsonNode text) {
        return text.isNull() ? null : ByteBuffer.wrap(Base64.getDecoder().decode(text.asText()));
    }

    private static Object state(TransactionMetadata found) {
        return List.of(
            found.producerId(), found.producerEpoch(), found.prevProducerId(), found.state().stateName(), found.txnTimeoutMs(),
            found.txnStartTimestamp(), found.txnLastUpdateTimestamp(), found.topicPartitions().stream().map(String::valueOf).sorted().toList()
        );
    }
}
