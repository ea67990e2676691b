package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.storage.RemoteLogManagerAccess;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/** RemoteLogManager.isRemoteSegmentWithinLeaderEpochs. */
final class RemoteLineage {

    private RemoteLineage() { }

    static Object answer(JsonNode request) {
        RemoteLogSegmentId id = new RemoteLogSegmentId(
            new TopicIdPartition(new Uuid(1, 2), new TopicPartition("t", 0)), new Uuid(3, 4));
        List<Object> within = new ArrayList<>();
        for (JsonNode node : request.get("cases")) within.add(Json.orError(() -> {
            TreeMap<Integer, Long> own = epochs(node.get("segment_epochs"));
            RemoteLogSegmentMetadata segment = new RemoteLogSegmentMetadata(
                id, own.firstEntry().getValue(), node.get("end_offset").asLong(), 0L, 1, 0L, 1, own);
            return RemoteLogManagerAccess.isWithin(
                segment, node.get("log_end_offset").asLong(), epochs(node.get("leader_epochs")));
        }));
        return Json.object("within", within);
    }

    private static TreeMap<Integer, Long> epochs(JsonNode pairs) {
        TreeMap<Integer, Long> epochs = new TreeMap<>();
        for (JsonNode pair : pairs) epochs.put(pair.get(0).asInt(), pair.get(1).asLong());
        return epochs;
    }
}
