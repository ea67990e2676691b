package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.raft.MetadataLogConfig;
import org.apache.kafka.raft.internals.KafkaRaftLog;

import java.io.File;
import java.util.Map;

/** A copy of a directory of the metadata log, opened as KRaft opens it. */
final class MetadataLog {

    private MetadataLog() { }

    static Object answer(JsonNode request) throws Exception {
        Settling scheduler = new Settling();
        MetadataLogConfig config = new MetadataLogConfig(new AbstractConfig(MetadataLogConfig.CONFIG_DEF, Map.of()));
        KafkaRaftLog log = KafkaRaftLog.createLog(new TopicPartition("__cluster_metadata", 0), Uuid.METADATA_TOPIC_ID,
            new File(request.get("directory").asText()), new FixedTime(Json.longOf(request, "now_ms", 0)), scheduler, config, 1);
        try {
            scheduler.settle();
            return Json.object("files", Json.files(new File(request.get("directory").asText())),
                "log_start_offset", log.startOffset(), "log_end_offset", log.endOffset().offset(),
                "high_watermark", log.highWatermark().offset());
        } finally {
            scheduler.forget();
            log.close();
        }
    }
}
