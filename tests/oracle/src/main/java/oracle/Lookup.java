package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.errors.CorruptRecordException;
import org.apache.kafka.common.errors.OffsetOutOfRangeException;
import org.apache.kafka.common.record.internal.FileLogInputStream.FileChannelRecordBatch;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogOffsetMetadata;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.OffsetPosition;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Where the real log finds offsets and timestamps. */
final class Lookup {

    private Lookup() { }

    static Object answer(JsonNode request) throws Exception {
        OpenLog open = OpenLog.load(request, new File(request.get("directory").asText()), Json.booleanOf(request, "clean", true),
            Json.longOf(request, "log_start_offset", 0), Json.longOf(request, "recovery_point", 0));
        try {
            open.scheduler.settle();
            List<Object> offsets = new ArrayList<>();
            for (long offset : Json.longs(request.path("offsets"))) offsets.add(Json.orError(() -> offset(open, offset)));
            List<Object> timestamps = new ArrayList<>();
            for (long timestamp : Json.longs(request.path("timestamps"))) timestamps.add(Json.orError(() -> timestamp(open, timestamp)));
            List<Object> segments = new ArrayList<>();
            for (LogSegment segment : open.log.logSegments()) segments.add(Json.object(
                "base_offset", segment.baseOffset(), "size", segment.size(), "largest_timestamp", segment.largestTimestamp()));
            return Json.object("log_start_offset", open.log.logStartOffset(), "log_end_offset", open.log.logEndOffset(),
                "epochs", EpochCache.entries(open.log.leaderEpochCache()), "offsets", offsets, "timestamps", timestamps, "segments", segments);
        } finally {
            open.kill();
        }
    }

    /** The first batch that a fetch at this offset returns: found false at the log end, an error outside the log. */
    private static Map<String, Object> offset(OpenLog open, long offset) throws Exception {
        FetchDataInfo fetched = open.log.read(offset, 1, FetchIsolation.LOG_END, true);
        LogOffsetMetadata place = fetched.fetchOffsetMetadata;
        if (fetched.records.sizeInBytes() == 0) return Json.object("found", false);
        LogSegment segment = open.log.logSegments().stream()
            .filter(candidate -> candidate.baseOffset() == place.segmentBaseOffset).findFirst().orElseThrow();
        FileRecords.LogOffsetPosition translated = segment.translateOffset(offset);
        if (translated.position != place.relativePositionInSegment) throw new IllegalStateException("translateOffset and read differ");
        FileChannelRecordBatch batch = segment.log().batchesFrom(translated.position).iterator().next();
        OffsetPosition entry = segment.offsetIndex().lookup(offset);
        return Json.object("found", true, "segment_base_offset", segment.baseOffset(), "position", translated.position, "size", translated.size,
            "batch_base_offset", batch.baseOffset(), "batch_last_offset", batch.lastOffset(), "leader_epoch", batch.partitionLeaderEpoch(),
            "index_entry_offset", entry.offset(), "index_entry_position", entry.position());
    }

    /** The answer of ListOffsets for a timestamp (or -1, -2, -3, -4), null when nothing is found. */
    private static Map<String, Object> timestamp(OpenLog open, long timestamp) throws Exception {
        Optional<FileRecords.TimestampAndOffset> found = open.log.fetchOffsetByTimestamp(timestamp, Optional.empty()).timestampAndOffsetOpt();
        if (found.isEmpty()) return null;
        Map<String, Object> answer = Json.object("offset", found.get().offset, "timestamp", found.get().timestamp,
            "leader_epoch", found.get().leaderEpoch.orElse(null), "segment_base_offset", null, "position", null);
        try {
            Map<String, Object> place = offset(open, found.get().offset);
            answer.put("segment_base_offset", place.get("segment_base_offset"));
            answer.put("position", place.get("position"));
        } catch (OffsetOutOfRangeException | CorruptRecordException unread) {
            // ListOffsets reads no further; a fetch of it looks at the batch after it, too
            return answer;
        }
        return answer;
    }
}
