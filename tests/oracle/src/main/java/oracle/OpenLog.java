package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogOffsetsListener;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.ProducerStateEntry;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

import java.io.File;
import java.io.IOException;
import java.nio.BufferOverflowException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** One UnifiedLog on a partition directory, with a clock that stands still and tasks that wait. */
final class OpenLog {

    /** One of the broker's default settings: producers are forgotten after a day. */
    private static final int PRODUCER_ID_EXPIRATION_MS = 86_400_000;
    private static final BrokerTopicStats STATS = new BrokerTopicStats();

    final Settling scheduler = new Settling();
    final FixedTime time;
    final UnifiedLog log;

    private OpenLog(JsonNode request, File directory, boolean clean, long logStartOffset, long recoveryPoint, Optional<Uuid> topicId) throws IOException {
        time = new FixedTime(Json.longOf(request, "now_ms", System.currentTimeMillis()));
        log = UnifiedLog.create(directory, config(request), logStartOffset, recoveryPoint, scheduler, STATS, time,
            300_000, new ProducerStateManagerConfig(PRODUCER_ID_EXPIRATION_MS, false), 600_000,
            new LogDirFailureChannel(1), clean, topicId, new ConcurrentHashMap<>(),
            Json.booleanOf(request, "remote_enabled", false), LogOffsetsListener.NO_OP_OFFSETS_LISTENER);
    }

    static OpenLog create(JsonNode request, File directory, Optional<Uuid> topicId) throws IOException {
        return new OpenLog(request, directory, true, 0, 0, topicId);
    }

    /** Opens a directory as LogManager does, from what the checkpoint files of the log dir say. */
    static OpenLog load(JsonNode request, File directory, boolean clean, long logStartOffset, long recoveryPoint) throws IOException {
        if (!directory.isDirectory()) throw new IOException("not a directory: " + directory);
        try {
            return new OpenLog(request, directory, clean, logStartOffset, recoveryPoint, Optional.empty());
        } catch (Throwable thrown) {
            System.gc(); // what a failed open left behind is out of reach: its files are closed when it is collected
            throw thrown;
        }
    }

    static LogConfig config(JsonNode request) {
        Map<String, Object> settings = new HashMap<>();
        put(settings, TopicConfig.INDEX_INTERVAL_BYTES_CONFIG, request, "index_interval_bytes");
        put(settings, TopicConfig.SEGMENT_INDEX_BYTES_CONFIG, request, "segment_index_bytes");
        put(settings, LogConfig.INTERNAL_SEGMENT_BYTES_CONFIG, request, "segment_bytes");
        if (Json.booleanOf(request, "remote_enabled", false)) settings.put(TopicConfig.REMOTE_LOG_STORAGE_ENABLE_CONFIG, true);
        request.path("config").fields().forEachRemaining(entry -> settings.put(entry.getKey(), entry.getValue().asText()));
        return new LogConfig(settings);
    }

    private static void put(Map<String, Object> settings, String setting, JsonNode request, String name) {
        if (Json.given(request, name)) settings.put(setting, request.get(name).asInt());
    }

    /** Stops as a broker in order does: flush, close. An index that is full costs its last entry, as of releases before 4.4. */
    void closeCleanly() {
        try {
            log.prepareActiveSegmentForClose();
        } catch (BufferOverflowException full) {
            // what it would add is found without it
        }
        log.flush(true);
        scheduler.settle();
        log.close();
        scheduler.settle();
        log.removeLogMetrics();
    }

    /** Stops as a killed process does: tasks are lost, indexes stay untrimmed, nothing is snapshotted. */
    void kill() {
        scheduler.forget();
        log.closeQuietly();
        log.removeLogMetrics();
    }

    /** What is in memory. Asking opens every lazy index: list files before. */
    Map<String, Object> state() {
        List<Object> segments = new ArrayList<>();
        for (LogSegment segment : log.logSegments()) segments.add(Json.object(
            "base_offset", segment.baseOffset(),
            "size", segment.size(),
            "offset_index_entries", Json.orError(() -> segment.offsetIndex().entries()),
            "time_index_entries", Json.orError(() -> segment.timeIndex().entries()),
            "txn_index_entries", Json.orError(() -> segment.txnIndex().allAbortedTxns().size())));
        List<ProducerStateEntry> entries = new ArrayList<>(log.producerStateManager().activeProducers().values());
        entries.sort(Comparator.comparingLong(ProducerStateEntry::producerId));
        List<Object> producers = new ArrayList<>();
        entries.forEach(entry -> producers.add(producer(entry)));
        return Json.object(
            "log_end_offset", log.logEndOffset(),
            "log_start_offset", log.logStartOffset(),
            "local_log_start_offset", log.localLogStartOffset(),
            "high_watermark", log.highWatermark(),
            "recovery_point", log.recoveryPoint(),
            "first_unstable_offset", log.firstUnstableOffset().orElse(null),
            "last_stable_offset", log.lastStableOffset(),
            "segments", segments,
            "epochs", EpochCache.entries(log.leaderEpochCache()),
            "producers", producers,
            "producers_end_offset", log.producerStateManager().mapEndOffset(),
            "open_transactions", entries.stream().filter(entry -> entry.currentTxnFirstOffset().isPresent()).count());
    }

    static Map<String, Object> producer(ProducerStateEntry entry) {
        List<Object> batches = new ArrayList<>();
        entry.batchMetadata().forEach(batch -> batches.add(Json.object(
            "last_sequence", batch.lastSeq(), "last_offset", batch.lastOffset(),
            "offset_delta", batch.offsetDelta(), "timestamp", batch.timestamp())));
        return Json.object(
            "producer_id", entry.producerId(),
            "producer_epoch", entry.producerEpoch(),
            "coordinator_epoch", entry.coordinatorEpoch(),
            "last_timestamp", entry.lastTimestamp(),
            "current_txn_first_offset", entry.currentTxnFirstOffset().isPresent() ? entry.currentTxnFirstOffset().getAsLong() : null,
            "batches", batches);
    }
}
