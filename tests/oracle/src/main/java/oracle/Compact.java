package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.record.internal.FileLogInputStream;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerAccess;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** One cleaning of a log by the cleaner: its counts, and what the log then holds. */
final class Compact {

    private Compact() { }

    static Object answer(JsonNode request) throws Exception {
        OpenLog open = OpenLog.load(request, new File(request.get("directory").asText()), Json.booleanOf(request, "clean", true),
            Json.longOf(request, "log_start_offset", 0), Json.longOf(request, "recovery_point", 0));
        boolean keep = Json.booleanOf(request, "keep", false);
        try {
            UnifiedLog log = open.log;
            log.updateHighWatermark(request.get("high_watermark").asLong());
            Optional<Long> last = Json.given(request, "last_clean_offset") ? Optional.of(request.get("last_clean_offset").asLong()) : Optional.empty();
            long[] offsets = CleanerAccess.cleanableOffsets(log, last, open.time.milliseconds());
            LogToClean cleanable = new LogToClean(log, offsets[0], offsets[1], false);
            Map<String, Object> answer = Json.object("first_dirty_offset", offsets[0], "end_offset", cleanable.firstUncleanableOffset());
            if (offsets[0] < cleanable.firstUncleanableOffset()) clean(request, open, cleanable, answer);
            answer.put("segments", segments(log));
            return answer;
        } finally {
            if (keep) open.closeCleanly();
            else open.kill();
        }
    }

    private static void clean(JsonNode request, OpenLog open, LogToClean cleanable, Map<String, Object> answer) throws Exception {
        int memory = Json.intOf(request, "keys_memory", 1 << 20);
        SkimpyOffsetMap map = new SkimpyOffsetMap(memory);
        Throttler throttler = new Throttler(Double.MAX_VALUE, 300, "cleaner-io", "bytes", open.time);
        Cleaner cleaner = new Cleaner(0, map, 1 << 16, 1 << 20, 0.9, throttler, open.time, partition -> { });
        Map.Entry<Long, CleanerStats> done = cleaner.clean(cleanable);
        CleanerStats stats = done.getValue();
        answer.put("clean_checkpoint_after", done.getKey());
        answer.put("messages_read", stats.messagesRead());
        answer.put("messages_written", stats.messagesWritten());
        answer.put("bytes_read", stats.bytesRead());
        answer.put("bytes_written", stats.bytesWritten());
        answer.put("keys", map.size());
    }

    private static List<Object> segments(UnifiedLog log) {
        List<Object> segments = new ArrayList<>();
        for (LogSegment segment : log.logSegments()) {
            List<Object> offsets = new ArrayList<>();
            int batches = 0;
            boolean compressed = false;
            for (FileLogInputStream.FileChannelRecordBatch batch : segment.log().batches()) {
                batches++;
                compressed |= batch.isCompressed();
                for (Record record : batch) offsets.add(record.offset());
            }
            segments.add(Json.object("base_offset", segment.baseOffset(), "size", segment.size(), "batches", batches,
                "offsets", offsets, "compressed", compressed));
        }
        return segments;
    }
}
