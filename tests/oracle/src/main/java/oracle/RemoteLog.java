package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.ListOffsetsRequest;
import org.apache.kafka.server.log.remote.metadata.storage.RemoteLogMetadataCacheAccess;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.StoredRemoteLogs;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.RemoteStorageFetchInfo;
import org.apache.kafka.storage.internals.log.UnifiedLog;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A tiered partition as its leader holds it: RemoteLogManager over a real log, a cache of events, a directory of segments. */
final class RemoteLog {

    private RemoteLog() { }

    static Object answer(JsonNode request) throws Exception {
        File directory = new File(request.get("directory").asText());
        OpenLog open = OpenLog.load(request, directory, true, Json.longOf(request, "log_start_offset", 0), Json.longOf(request, "recovery_point", 0));
        StoredRemoteLogs remote = null;
        try {
            UnifiedLog log = open.log;
            log.updateHighWatermark(request.get("high_watermark").asLong());
            // a start drops an epoch without records, a leader that goes on holds it
            for (JsonNode pair : request.path("epochs")) log.assignEpochStartOffset(pair.get(0).asInt(), pair.get(1).asLong());
            RemoteLogMetadataCacheAccess cache = new RemoteLogMetadataCacheAccess(true);
            for (JsonNode node : request.get("events")) {
                RemoteLogMetadata event = Rlmm.event(node);
                if (event instanceof RemoteLogSegmentMetadata segment) cache.add(segment);
                else cache.update((RemoteLogSegmentMetadataUpdate) event);
            }
            TopicIdPartition partition = new TopicIdPartition(Uuid.fromString(request.get("topic_id").asText()), log.topicPartition());
            StoredRemoteLogs logs = StoredRemoteLogs.of(partition, log, cache, new File(request.get("storage").asText()), directory.getParentFile(), open.time);
            remote = logs;
            logs.lead(log);
            List<Object> specials = new ArrayList<>();
            for (long special : new long[] {ListOffsetsRequest.EARLIEST_TIMESTAMP, ListOffsetsRequest.EARLIEST_LOCAL_TIMESTAMP,
                ListOffsetsRequest.LATEST_TIERED_TIMESTAMP}) {
                FileRecords.TimestampAndOffset found = log.fetchOffsetByTimestamp(special, Optional.empty()).timestampAndOffsetOpt().orElseThrow();
                specials.add(List.of(found.offset, found.leaderEpoch.orElse(-1)));
            }
            List<Object> offsets = new ArrayList<>();
            for (long offset : Json.longs(request.path("offsets"))) offsets.add(Json.orError(() -> read(logs, partition, offset)));
            List<Object> timestamps = new ArrayList<>();
            for (long timestamp : Json.longs(request.path("timestamps"))) timestamps.add(Json.orError(() -> timestamp(logs, log, timestamp)));
            List<String> deleted = new ArrayList<>(logs.cleanUp());
            Long after = logs.logStartAfter().isPresent() ? (Long) logs.logStartAfter().getAsLong() : null;
            long start = log.logStartOffset();
            long end = log.logEndOffset();
            log.deleteOldSegments();
            open.scheduler.settle();
            List<Object> left = new ArrayList<>();
            for (LogSegment segment : log.logSegments()) left.add(segment.baseOffset());
            return Json.object("log_start_offset", start, "log_end_offset", end, "specials", specials, "offsets", offsets,
                "timestamps", timestamps, "deleted", deleted, "log_start_after", after, "local", left);
        } finally {
            if (remote != null) remote.close();
            open.kill();
        }
    }

    /** The first batch of a fetch from remote storage, and the segments that were read for it. */
    private static Map<String, Object> read(StoredRemoteLogs logs, TopicIdPartition partition, long offset) throws Exception {
        FetchRequest.PartitionData asked = new FetchRequest.PartitionData(partition.topicId(), offset, 0, 1, Optional.empty());
        FetchDataInfo found = logs.read(new RemoteStorageFetchInfo(1, true, partition, asked, FetchIsolation.LOG_END));
        List<String> read = logs.read();
        if (found.records.sizeInBytes() == 0) return Json.object("found", false, "read", read);
        RecordBatch batch = found.records.batches().iterator().next();
        return Json.object("found", true, "read", read, "position", found.fetchOffsetMetadata.relativePositionInSegment,
            "batch_base_offset", batch.baseOffset(), "batch_last_offset", batch.lastOffset());
    }

    /** What ListOffsets answers for a timestamp: remote storage first, then the local log (RemoteLogOffsetReader). */
    private static Map<String, Object> timestamp(StoredRemoteLogs logs, UnifiedLog log, long timestamp) throws Exception {
        Optional<FileRecords.TimestampAndOffset> found =
            logs.findOffsetByTimestamp(log.topicPartition(), timestamp, log.logStartOffset(), log.leaderEpochCache());
        List<String> read = logs.read();
        boolean local = found.isEmpty();
        if (local) for (LogSegment segment : log.logSegments()) if (segment.largestTimestamp() >= timestamp) {
            found = segment.findOffsetByTimestamp(timestamp, log.localLogStartOffset(), log.config().maxDecompressedMessageBytes());
            break;
        }
        return found.map(one -> Json.object("offset", one.offset, "timestamp", one.timestamp, "leader_epoch", one.leaderEpoch.orElse(-1),
            "read", read)).orElse(null);
    }
}
