package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.log.remote.metadata.storage.RemoteLogSegmentMetadataSnapshot;
import org.apache.kafka.server.log.remote.metadata.storage.serialization.RemoteLogMetadataSerde;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentId;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentState;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteMetadata;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteState;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Values of __remote_log_metadata: RemoteLogMetadataSerde and its formatter. */
final class Rlmm {

    private static final RemoteLogMetadataSerde SERDE = new RemoteLogMetadataSerde();
    private static final RemoteLogMetadataSerde.RemoteLogMetadataFormatter FORMATTER = new RemoteLogMetadataSerde.RemoteLogMetadataFormatter();

    private Rlmm() { }

    static Object decode(JsonNode request) {
        int partition = Json.intOf(request, "partition", 0);
        long offset = Json.longOf(request, "offset", 0);
        List<Object> values = new ArrayList<>();
        for (JsonNode node : request.get("values")) values.add(Json.orError(() -> {
            byte[] value = Json.bytes(node);
            Map<String, Object> fields = fields(SERDE.deserialize(value));
            fields.put("text", text(partition, offset, value));
            return fields;
        }));
        return Json.object("values", values);
    }

    static Object encode(JsonNode request) {
        List<Object> values = new ArrayList<>();
        for (JsonNode node : request.get("events")) values.add(Json.orError(() -> Json.base64(SERDE.serialize(event(node)))));
        return Json.object("values", values);
    }

    /** An event from its fields; the names are those that `fields` answers. */
    static RemoteLogMetadata event(JsonNode node) throws Exception {
        int brokerId = node.get("broker_id").asInt();
        long eventTimestampMs = node.get("event_timestamp_ms").asLong();
        String type = node.get("type").asText();
        return switch (type) {
            case "RemoteLogSegmentMetadata" -> new RemoteLogSegmentMetadata(segmentId(node),
                node.get("start_offset").asLong(), node.get("end_offset").asLong(), node.get("max_timestamp_ms").asLong(), brokerId,
                eventTimestampMs, node.get("segment_size_bytes").asInt(), customMetadata(node), segmentState(node), epochs(node),
                Json.booleanOf(node, "txn_index_empty", false));
            case "RemoteLogSegmentMetadataUpdate" -> new RemoteLogSegmentMetadataUpdate(
                segmentId(node), eventTimestampMs, customMetadata(node), segmentState(node), brokerId);
            case "RemotePartitionDeleteMetadata" -> new RemotePartitionDeleteMetadata(
                topicIdPartition(node), RemotePartitionDeleteState.valueOf(node.get("state").asText()), eventTimestampMs, brokerId);
            case "RemoteLogSegmentMetadataSnapshot" -> new RemoteLogSegmentMetadataSnapshot(Uuid.fromString(node.get("segment_id").asText()),
                node.get("start_offset").asLong(), node.get("end_offset").asLong(), node.get("max_timestamp_ms").asLong(), brokerId,
                eventTimestampMs, node.get("segment_size_bytes").asInt(), customMetadata(node), segmentState(node), epochs(node),
                Json.booleanOf(node, "txn_index_empty", false));
            default -> throw new IllegalArgumentException("no event " + type);
        };
    }

    static Map<String, Object> fields(RemoteLogMetadata event) {
        Map<String, Object> fields = Json.object("type", event.getClass().getSimpleName(),
            "broker_id", event.brokerId(), "event_timestamp_ms", event.eventTimestampMs());
        if (event instanceof RemoteLogSegmentMetadata segment) {
            put(fields, segment.topicIdPartition());
            put(fields, segment.remoteLogSegmentId().id(), segment.startOffset(), segment.endOffset(), segment.maxTimestampMs(),
                segment.segmentSizeInBytes(), segment.segmentLeaderEpochs(), segment.isTxnIdxEmpty());
            put(fields, segment.customMetadata(), segment.state());
        } else if (event instanceof RemoteLogSegmentMetadataUpdate update) {
            put(fields, update.topicIdPartition());
            fields.put("segment_id", update.remoteLogSegmentId().id().toString());
            put(fields, update.customMetadata(), update.state());
        } else if (event instanceof RemotePartitionDeleteMetadata delete) {
            put(fields, delete.topicIdPartition());
            fields.put("state", delete.state().name());
        } else if (event instanceof RemoteLogSegmentMetadataSnapshot segment) {
            put(fields, segment.segmentId(), segment.startOffset(), segment.endOffset(), segment.maxTimestampMs(),
                segment.segmentSizeInBytes(), segment.segmentLeaderEpochs(), segment.isTxnIdxEmpty());
            put(fields, segment.customMetadata(), segment.state());
        } else {
            throw new IllegalArgumentException("no fields for " + event.getClass());
        }
        return fields;
    }

    private static void put(Map<String, Object> fields, TopicIdPartition partition) {
        fields.put("topic", partition.topic());
        fields.put("topic_id", partition.topicId().toString());
        fields.put("partition", partition.partition());
    }

    private static void put(Map<String, Object> fields, Uuid segmentId, long start, long end, long maxTimestampMs, int size,
                            Map<Integer, Long> epochs, boolean txnIndexEmpty) {
        List<Object> pairs = new ArrayList<>();
        new TreeMap<>(epochs).forEach((epoch, offset) -> pairs.add(List.of(epoch, offset)));
        fields.put("segment_id", segmentId.toString());
        fields.put("start_offset", start);
        fields.put("end_offset", end);
        fields.put("max_timestamp_ms", maxTimestampMs);
        fields.put("segment_size_bytes", size);
        fields.put("segment_leader_epochs", pairs);
        fields.put("txn_index_empty", txnIndexEmpty);
    }

    private static void put(Map<String, Object> fields, Optional<CustomMetadata> customMetadata, RemoteLogSegmentState state) {
        fields.put("custom_metadata", customMetadata.map(metadata -> Json.base64(metadata.value())).orElse(null));
        fields.put("state", state.name());
    }

    private static RemoteLogSegmentId segmentId(JsonNode node) {
        return new RemoteLogSegmentId(topicIdPartition(node), Uuid.fromString(node.get("segment_id").asText()));
    }

    private static TopicIdPartition topicIdPartition(JsonNode node) {
        return new TopicIdPartition(Uuid.fromString(node.get("topic_id").asText()),
            new TopicPartition(node.get("topic").asText(), node.get("partition").asInt()));
    }

    private static RemoteLogSegmentState segmentState(JsonNode node) {
        return RemoteLogSegmentState.valueOf(node.get("state").asText());
    }

    private static Optional<CustomMetadata> customMetadata(JsonNode node) throws Exception {
        return Json.given(node, "custom_metadata") ? Optional.of(new CustomMetadata(Json.bytes(node.get("custom_metadata")))) : Optional.empty();
    }

    private static Map<Integer, Long> epochs(JsonNode node) {
        Map<Integer, Long> epochs = new TreeMap<>();
        node.get("segment_leader_epochs").forEach(pair -> epochs.put(pair.get(0).asInt(), pair.get(1).asLong()));
        return epochs;
    }

    private static String text(int partition, long offset, byte[] value) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        PrintStream out = new PrintStream(bytes, true, StandardCharsets.UTF_8);
        FORMATTER.writeTo(new ConsumerRecord<>("__remote_log_metadata", partition, offset, null, value), out);
        out.flush();
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
