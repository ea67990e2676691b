package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.raft.KafkaRaftClient;
import org.apache.kafka.raft.MetadataLogConfig;
import org.apache.kafka.raft.VoterSet;
import org.apache.kafka.raft.internals.KRaftControlRecordStateMachine;
import org.apache.kafka.raft.internals.KafkaRaftLog;
import org.apache.kafka.raft.internals.KafkaRaftMetrics;
import org.apache.kafka.snapshot.RawSnapshotReader;
import org.apache.kafka.snapshot.Snapshots;

import java.io.File;
import java.util.Map;
import java.util.Optional;

/** A copy of a directory of the metadata log, opened as KRaft opens it. */
final class MetadataLog {

    private MetadataLog() { }

    private static KafkaRaftLog open(JsonNode request, Settling scheduler) throws Exception {
        MetadataLogConfig config = new MetadataLogConfig(new AbstractConfig(MetadataLogConfig.CONFIG_DEF, Map.of()));
        return KafkaRaftLog.createLog(new TopicPartition("__cluster_metadata", 0), Uuid.METADATA_TOPIC_ID,
            new File(request.get("directory").asText()), new FixedTime(Json.longOf(request, "now_ms", 0)), scheduler, config, 1);
    }

    /** Reads the newest snapshot as the quorum does, and its header as MetadataLoader. */
    static Object snapshot(JsonNode request) throws Exception {
        Settling scheduler = new Settling();
        KafkaRaftLog log = open(request, scheduler);
        try (Metrics metrics = new Metrics()) {
            new KRaftControlRecordStateMachine(VoterSet.empty(), log, MetadataRecordSerde.INSTANCE,
                KafkaRaftClient.MAX_BATCH_SIZE_BYTES, new LogContext(), new KafkaRaftMetrics(metrics, "raft"), ignored -> { }).updateState();
            Optional<RawSnapshotReader> newest = log.latestSnapshot();
            if (newest.isPresent()) Snapshots.lastContainedLogTimestamp(newest.get(), new LogContext());
            return Json.object("snapshot", newest.isPresent());
        } finally {
            scheduler.forget();
            log.close();
        }
    }

    static Object answer(JsonNode request) throws Exception {
        Settling scheduler = new Settling();
        KafkaRaftLog log = open(request, scheduler);
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
