package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.server.share.SharePartitionKey;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** Where keys and names belong: the partitioner of producers, the rule of the coordinators; spellings of UUIDs. */
final class Partitions {

    private Partitions() { }

    static Object answer(JsonNode request) throws Exception {
        int partitions = request.get("partitions").asInt();
        List<Object> keys = new ArrayList<>(), texts = new ArrayList<>(), share = new ArrayList<>(), uuids = new ArrayList<>();
        for (JsonNode node : request.path("keys")) {
            byte[] key = Json.bytes(node);
            keys.add(List.of(Utils.murmur2(key), BuiltInPartitioner.partitionForKey(key, partitions)));
        }
        for (JsonNode node : request.path("texts")) texts.add(ofText(node.asText(), partitions));
        for (JsonNode node : request.path("share")) share.add(ofText(
            SharePartitionKey.getInstance(node.get(0).asText(), Uuid.fromString(node.get(1).asText()), node.get(2).asInt())
                .asCoordinatorKey(), partitions));
        for (JsonNode node : request.path("uuids")) {
            Uuid uuid = Uuid.fromString(node.asText());
            uuids.add(List.of(uuid.toString(), new UUID(uuid.getMostSignificantBits(), uuid.getLeastSignificantBits()).toString()));
        }
        return Json.object("keys", keys, "texts", texts, "share", share, "uuids", uuids);
    }

    /** As GroupCoordinatorService, TransactionStateManager and ShareCoordinatorService do, whose constructors need a broker. */
    private static List<Integer> ofText(String text, int partitions) {
        return List.of(text.hashCode(), Utils.abs(text.hashCode()) % partitions);
    }
}
