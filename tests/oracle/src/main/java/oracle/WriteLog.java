package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.storage.internals.checkpoint.CleanShutdownFileHandler;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;

/** A random partition directory, written by the real log as a follower writes: same request, same bytes. */
final class WriteLog {

    private static final LogDirFailureChannel FAILURES = new LogDirFailureChannel(1);

    private static final class Producer {
        final long id;
        final boolean transactional;
        short epoch;
        int sequence;
        boolean open;

        Producer(long id, boolean transactional) {
            this.id = id;
            this.transactional = transactional;
        }
    }

    private final JsonNode request;
    private final Random random;
    private final OpenLog open;
    private final List<Producer> producers = new ArrayList<>();
    private final List<Object> batches = new ArrayList<>();
    private final List<String> codecs = new ArrayList<>();
    private final String timestamps;
    private long offset;
    private long clock;
    private int epoch;

    private WriteLog(JsonNode request, File directory) throws Exception {
        this.request = request;
        random = new Random(request.get("seed").asLong());
        // Random's first bits differ little between neighbouring seeds
        for (int i = 0; i < 8; i++) random.nextLong();
        open = OpenLog.create(request, directory, Optional.of(new Uuid(random.nextLong(), random.nextLong())));
        request.path("codecs").forEach(codec -> codecs.add(codec.asText()));
        if (codecs.isEmpty()) codecs.add("none");
        timestamps = request.path("timestamps").asText("rising");
        epoch = Json.intOf(request, "first_epoch", 0);
        clock = open.time.now - 3_600_000;
        int idempotent = Json.intOf(request, "producers", 0);
        int transactional = Json.intOf(request, "transactional_producers", 0);
        for (int i = 0; i < idempotent + transactional; i++) producers.add(new Producer(1000 + i, i >= idempotent));
    }

    static Object answer(JsonNode request) throws Exception {
        File directory = new File(request.get("directory").asText());
        if (directory.exists()) throw new IllegalArgumentException("exists: " + directory);
        WriteLog writer = new WriteLog(request, directory);
        boolean written = false;
        try {
            writer.write();
            written = true;
        } finally {
            if (!written) writer.open.kill();
        }
        return writer.end(directory);
    }

    private boolean chance(String name, double otherwise) {
        return random.nextDouble() < Json.doubleOf(request, name, otherwise);
    }

    private int between(int low, int high) {
        return low + random.nextInt(Math.max(high - low, 0) + 1);
    }

    private void write() throws Exception {
        offset = Json.longOf(request, "start_offset", 0);
        if (offset > 0) open.log.truncateFullyAndStartAt(offset, Optional.empty());
        int wanted = Json.intOf(request, "batches", 30);
        int rollEvery = Json.intOf(request, "roll_every", 0);
        while (batches.size() < wanted) {
            if (chance("epoch_chance", 0.1)) epoch += between(1, 3);
            // a replica that became leader notes its epoch before the first record, and may never write one
            if (chance("empty_epoch_chance", 0.03)) open.log.assignEpochStartOffset(++epoch, offset);
            if (chance("gap_chance", 0)) offset += between(1, Json.intOf(request, "gap_max", 20));
            append(Math.min(between(1, Json.intOf(request, "batches_per_append_max", 3)), wanted - batches.size()));
            if (chance("roll_chance", 0) || rollEvery > 0 && batches.size() % rollEvery == 0) open.log.roll();
            if (chance("flush_chance", 0.1)) open.log.flush(false);
            if (chance("settle_chance", 0.3)) open.scheduler.settle();
            if (chance("snapshot_chance", 0.02)) open.log.takeProducerSnapshot();
        }
        if (chance("trailing_epoch_chance", 0)) open.log.assignEpochStartOffset(++epoch, offset);
        if (Json.given(request, "delete_records")) {
            open.log.updateHighWatermark(offset);
            long first = open.log.logStartOffset();
            long start = first + Math.round((offset - first) * request.get("delete_records").asDouble());
            open.log.maybeIncrementLogStartOffset(start, LogStartOffsetIncrementReason.ClientRecordDeletion);
            if (Json.booleanOf(request, "delete_segments", false)) open.log.deleteOldSegments();
        }
    }

    private void append(int count) {
        List<ByteBuffer> buffers = new ArrayList<>();
        int size = 0;
        for (int i = 0; i < count; i++) {
            ByteBuffer batch = batch();
            buffers.add(batch);
            size += batch.remaining();
        }
        ByteBuffer all = ByteBuffer.allocate(size);
        buffers.forEach(all::put);
        open.log.appendAsFollower(MemoryRecords.readableRecords(all.flip()), epoch);
        if (open.log.logEndOffset() != offset) throw new IllegalStateException("log end " + open.log.logEndOffset() + ", not " + offset);
    }

    private ByteBuffer batch() {
        Producer producer = producers.isEmpty() || chance("plain_chance", 0.3) ? null : producers.get(random.nextInt(producers.size()));
        if (producer != null && producer.open && chance("end_chance", 0.4)) return marker(producer);
        if (producer == null && chance("empty_chance", 0)) return empty();
        return data(producer);
    }

    /** A batch of which compaction left the header only. */
    private ByteBuffer empty() {
        long last = offset + between(0, Json.intOf(request, "records_max", 6) - 1);
        ByteBuffer buffer = ByteBuffer.allocate(DefaultRecordBatch.RECORD_BATCH_OVERHEAD);
        DefaultRecordBatch.writeEmptyHeader(buffer, RecordBatch.MAGIC_VALUE_V2, RecordBatch.NO_PRODUCER_ID, RecordBatch.NO_PRODUCER_EPOCH,
            RecordBatch.NO_SEQUENCE, offset, last, epoch, TimestampType.CREATE_TIME, RecordBatch.NO_TIMESTAMP, false, false);
        note(offset, last, RecordBatch.NO_PRODUCER_ID, "none", 0);
        offset = last + 1;
        return buffer.flip();
    }

    private ByteBuffer marker(Producer producer) {
        producer.open = false;
        ControlRecordType type = chance("abort_chance", 0.5) ? ControlRecordType.ABORT : ControlRecordType.COMMIT;
        MemoryRecords records = MemoryRecords.withEndTransactionMarker(offset, timestamp(), epoch, producer.id, producer.epoch,
            new EndTransactionMarker(type, 0));
        note(offset, offset, producer.id, type.name(), 1);
        offset++;
        return records.buffer();
    }

    private ByteBuffer data(Producer producer) {
        int count = between(Json.intOf(request, "records_min", 1), Json.intOf(request, "records_max", 6));
        String codec = codecs.get(random.nextInt(codecs.size()));
        boolean transactional = producer != null && producer.transactional;
        if (producer != null && chance("producer_epoch_chance", 0.03) && !producer.open) {
            producer.epoch++;
            producer.sequence = 0;
        }
        boolean appendTime = timestamps.equals("log_append");
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(ByteBuffer.allocate(1024), RecordBatch.MAGIC_VALUE_V2,
            Compression.of(CompressionType.forName(codec)).build(),
            appendTime ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME, offset, appendTime ? timestamp() : RecordBatch.NO_TIMESTAMP,
            producer == null ? RecordBatch.NO_PRODUCER_ID : producer.id,
            producer == null ? RecordBatch.NO_PRODUCER_EPOCH : producer.epoch,
            producer == null ? RecordBatch.NO_SEQUENCE : producer.sequence,
            transactional, false, epoch, Integer.MAX_VALUE);
        long last = offset + count - 1;
        int written = 0;
        for (long at = offset; at <= last; at++) {
            // a compacted batch keeps its first and last offset and loses records; it may lose all but one here
            if (chance("hole_chance", 0) && (at < last || written > 0)) continue;
            builder.appendWithOffset(at, timestamp(), key(), bytes(Json.intOf(request, "value_max", 120), Json.doubleOf(request, "null_value_chance", 0.05)), headers());
            written++;
        }
        builder.overrideLastOffset(last);
        ByteBuffer buffer = builder.build().buffer();
        if (producer != null) {
            producer.sequence += count;
            producer.open |= transactional;
        }
        note(offset, last, producer == null ? RecordBatch.NO_PRODUCER_ID : producer.id, codec, written);
        offset = last + 1;
        return buffer;
    }

    private void note(long base, long last, long producerId, String kind, int records) {
        batches.add(Json.object("base_offset", base, "last_offset", last, "leader_epoch", epoch, "producer_id", producerId,
            "kind", kind, "records", records));
    }

    private long timestamp() {
        return switch (timestamps) {
            case "rising" -> clock += between(0, 1000);
            case "random" -> clock + between(-600_000, 600_000);
            case "equal", "log_append" -> clock;
            case "none" -> RecordBatch.NO_TIMESTAMP;
            default -> throw new IllegalArgumentException("no timestamps " + timestamps);
        };
    }

    /** Of a few that come again and again where the request says how many, else mostly one of its own. */
    private byte[] key() {
        int keys = Json.intOf(request, "keys", 0);
        if (keys == 0) return bytes(8, 0.2);
        return random.nextInt(20) == 0 ? null : ("key-" + random.nextInt(keys)).getBytes(StandardCharsets.UTF_8);
    }

    private byte[] bytes(int max, double none) {
        if (random.nextDouble() < none) return null;
        byte[] bytes = new byte[between(0, max)];
        random.nextBytes(bytes);
        return bytes;
    }

    private Header[] headers() {
        Header[] headers = new Header[random.nextInt(8) == 0 ? 1 : 0];
        for (int i = 0; i < headers.length; i++) headers[i] = new RecordHeader("header", "value".getBytes(StandardCharsets.UTF_8));
        return headers;
    }

    private Object end(File directory) throws Exception {
        boolean clean = request.path("end").asText("clean").equals("clean");
        Map<String, Object> state = open.state(); // changes nothing here: what was written has its indexes open
        if (clean) open.closeCleanly();
        else open.kill();
        long logStartOffset = open.log.logStartOffset();
        // a checkpoint of a killed broker is older than what it held
        double share = clean ? 1 : Json.doubleOf(request, "recovery_point", 1);
        long recoveryPoint = Math.round(open.log.recoveryPoint() * share);
        long logStartCheckpoint = logStartOffset > open.log.logSegments().get(0).baseOffset() ? logStartOffset : 0;
        long highWatermark = logStartOffset + Math.round((offset - logStartOffset) * Json.doubleOf(request, "high_watermark", random.nextDouble()));
        if (Json.booleanOf(request, "checkpoints", false)) checkpoints(directory, clean, logStartCheckpoint, recoveryPoint, highWatermark);
        state.put("log_start_offset_checkpoint", logStartCheckpoint);
        state.put("high_watermark", highWatermark);
        state.put("recovery_point", recoveryPoint);
        state.put("deleted", Json.given(request, "delete_records"));
        state.put("files", Json.files(directory));
        state.put("batches", batches);
        return state;
    }

    /** The files of the log dir above the partition directory; 0 for a log start offset that LogManager would not write. */
    private void checkpoints(File directory, boolean clean, long logStartCheckpoint, long recoveryPoint, long highWatermark) throws Exception {
        File logDir = directory.getParentFile();
        TopicPartition partition = open.log.topicPartition();
        checkpoint(logDir, "recovery-point-offset-checkpoint", Map.of(partition, recoveryPoint));
        checkpoint(logDir, "replication-offset-checkpoint", Map.of(partition, highWatermark));
        checkpoint(logDir, "log-start-offset-checkpoint", logStartCheckpoint > 0 ? Map.of(partition, logStartCheckpoint) : Map.of());
        if (clean) new CleanShutdownFileHandler(logDir.getPath()).write(1);
    }

    private static void checkpoint(File logDir, String name, Map<TopicPartition, Long> offsets) throws Exception {
        new OffsetCheckpointFile(new File(logDir, name), FAILURES).write(offsets);
    }
}
