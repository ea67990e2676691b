import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Base64;
import java.util.Optional;
import org.apache.kafka.server.log.remote.metadata.storage.serialization.RemoteLogMetadataSerde;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemotePartitionDeleteMetadata;

/** Values of __remote_log_metadata, base64, one a line; out comes what Kafka's own serde reads, one JSON object a line. */
public class RemoteEvents {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final RemoteLogMetadataSerde SERDE = new RemoteLogMetadataSerde();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine())
            System.out.println(JSON.writeValueAsString(event(SERDE.deserialize(Base64.getDecoder().decode(line)))));
    }

    private static ObjectNode event(RemoteLogMetadata read) {
        ObjectNode out = JSON.createObjectNode();
        out.put("type", read.getClass().getSimpleName());
        out.put("topic", read.topicIdPartition().topic());
        out.put("topic_id", read.topicIdPartition().topicId().toString());
        out.put("partition", read.topicIdPartition().partition());
        out.put("broker_id", read.brokerId());
        out.put("event_timestamp_ms", read.eventTimestampMs());
        if (read instanceof RemoteLogSegmentMetadata copied) {
            out.put("segment_id", copied.remoteLogSegmentId().id().toString());
            out.put("start_offset", copied.startOffset());
            out.put("end_offset", copied.endOffset());
            out.put("max_timestamp_ms", copied.maxTimestampMs());
            out.put("segment_size_bytes", copied.segmentSizeInBytes());
            ArrayNode epochs = out.putArray("segment_leader_epochs");
            copied.segmentLeaderEpochs().forEach((epoch, start) -> epochs.addObject().put("epoch", epoch).put("start_offset", start));
            out.put("custom_metadata", custom(copied.customMetadata()));
            out.put("state", copied.state().name());
            out.put("txn_index_empty", copied.isTxnIdxEmpty());
        } else if (read instanceof RemoteLogSegmentMetadataUpdate update) {
            out.put("segment_id", update.remoteLogSegmentId().id().toString());
            out.put("custom_metadata", custom(update.customMetadata()));
            out.put("state", update.state().name());
        } else if (read instanceof RemotePartitionDeleteMetadata deleted) {
            out.put("state", deleted.state().name());
        }
        return out.put("to_string", read.toString());
    }

    private static String custom(Optional<CustomMetadata> metadata) {
        return metadata.map(bytes -> Base64.getEncoder().encodeToString(bytes.value())).orElse(null);
    }
}
