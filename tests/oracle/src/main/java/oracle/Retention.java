package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.storage.internals.log.CleanerAccess;
import org.apache.kafka.storage.internals.log.LogCleanerManager;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.PreCleanStats;
import org.apache.kafka.storage.internals.log.RollParams;
import org.apache.kafka.storage.internals.log.UnifiedLog;

import java.io.File;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/** What the cleaner would do with a log, and what looks of retention leave of it, one after the other. */
final class Retention {

    private Retention() { }

    static Object answer(JsonNode request) throws Exception {
        File directory = new File(request.get("directory").asText());
        OpenLog open = OpenLog.load(request, directory, Json.booleanOf(request, "clean", true),
            Json.longOf(request, "log_start_offset", 0), Json.longOf(request, "recovery_point", 0));
        try {
            UnifiedLog log = open.log;
            log.updateHighWatermark(request.get("high_watermark").asLong());
            Map<String, Object> answer = new HashMap<>();
            List<Object> segments = new ArrayList<>();
            for (LogSegment segment : log.logSegments()) segments.add(
                Json.object("base_offset", segment.baseOffset(), "size", segment.size(), "largest_timestamp", segment.largestTimestamp()));
            answer.put("segments", segments);
            if (log.config().compact) answer.put("cleaner", cleaner(request, open, directory.getParentFile()));
            List<Object> rolls = new ArrayList<>();
            for (long time : Json.longs(request.path("appends"))) rolls.add(log.activeSegment().shouldRoll(
                new RollParams(log.config().maxSegmentMs(), log.config().segmentSize(), time, log.logEndOffset(), 0, time)));
            answer.put("rolls", rolls);
            List<Object> looks = new ArrayList<>();
            for (long time : Json.longs(request.path("looks"))) {
                open.time.now = time;
                log.deleteOldSegments();
                open.scheduler.settle();
                List<Object> left = new ArrayList<>();
                for (LogSegment segment : log.logSegments()) left.add(segment.baseOffset());
                looks.add(left);
            }
            answer.put("left", looks);
            return answer;
        } finally {
            open.kill();
        }
    }

    private static Map<String, Object> cleaner(JsonNode request, OpenLog open, File logDir) throws Exception {
        UnifiedLog log = open.log;
        Optional<Long> last = Json.given(request, "last_clean_offset") ? Optional.of(request.get("last_clean_offset").asLong()) : Optional.empty();
        long[] offsets = CleanerAccess.cleanableOffsets(log, last, open.time.milliseconds());
        LogToClean toClean = new LogToClean(log, offsets[0], offsets[1], false);
        ConcurrentMap<TopicPartition, UnifiedLog> logs = new ConcurrentHashMap<>(Map.of(log.topicPartition(), log));
        Optional<LogToClean> picked = new LogCleanerManager(List.of(logDir), logs, new LogDirFailureChannel(1))
            .grabFilthiestCompactedLog(open.time, new PreCleanStats());
        return Json.object("first_dirty_offset", offsets[0], "first_uncleanable_offset", offsets[1], "clean_bytes", toClean.cleanBytes(),
            "cleanable_bytes", toClean.cleanableBytes(), "ratio", toClean.cleanableRatio(), "picked", picked.isPresent());
    }
}
