package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.internal.FileLogInputStream.FileChannelRecordBatch;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** FileRecords and OffsetCheckpointFile on given bytes. */
final class Formats {

    private Formats() { }

    /** The batches of a segment up to the first that cannot be read, which ends the list as an error. */
    static Object records(JsonNode request) throws Exception {
        File file = new File(Json.scratch("records"), "00000000000000000000.log");
        Files.write(file.toPath(), Json.bytes(request.get("bytes")));
        boolean withRecords = Json.booleanOf(request, "records", true);
        List<Object> batches = new ArrayList<>();
        Object error = null;
        try (FileRecords log = FileRecords.open(file, false)) {
            for (FileChannelRecordBatch batch : log.batches()) {
                Map<String, Object> fields = batch(batch);
                if (withRecords) fields.put("records", Json.orError(() -> records(batch)));
                batches.add(fields);
            }
        } catch (Throwable thrown) {
            error = Json.error(thrown);
        }
        return Json.object("batches", batches, "end", error);
    }

    private static Map<String, Object> batch(FileChannelRecordBatch batch) {
        return Json.object("position", batch.position(), "size", batch.sizeInBytes(), "magic", batch.magic(),
            "base_offset", batch.baseOffset(), "last_offset", batch.lastOffset(), "count", batch.countOrNull(),
            "partition_leader_epoch", batch.partitionLeaderEpoch(), "producer_id", batch.producerId(),
            "producer_epoch", batch.producerEpoch(), "base_sequence", batch.baseSequence(), "last_sequence", batch.lastSequence(),
            "is_transactional", batch.isTransactional(), "is_control", batch.isControlBatch(),
            "delete_horizon_ms", batch.deleteHorizonMs().isPresent() ? batch.deleteHorizonMs().getAsLong() : null,
            "timestamp_type", batch.timestampType().name, "max_timestamp", batch.maxTimestamp(),
            "compression", batch.compressionType().name, "crc", batch.checksum(), "is_valid", batch.isValid());
    }

    private static List<Object> records(FileChannelRecordBatch batch) {
        List<Object> records = new ArrayList<>();
        for (Record record : batch) {
            List<Object> headers = new ArrayList<>();
            for (Header header : record.headers()) headers.add(Json.object(
                "key", header.key(), "value", header.value() == null ? null : Json.base64(header.value())));
            records.add(Json.object("offset", record.offset(), "timestamp", record.timestamp(), "sequence", record.sequence(),
                "key", base64(record.key()), "value", base64(record.value()), "headers", headers));
        }
        return records;
    }

    private static String base64(ByteBuffer buffer) {
        if (buffer == null) return null;
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return Json.base64(bytes);
    }

    static Object offsetCheckpoint(JsonNode request) throws Exception {
        File file = new File(Json.scratch("offset_checkpoint"), "recovery-point-offset-checkpoint");
        Files.write(file.toPath(), Json.bytes(request.get("bytes")));
        List<Object> entries = new ArrayList<>();
        new OffsetCheckpointFile(file, new LogDirFailureChannel(1)).read().forEach((partition, offset) -> entries.add(
            List.of(partition.topic(), partition.partition(), offset)));
        return Json.object("entries", entries);
    }
}
