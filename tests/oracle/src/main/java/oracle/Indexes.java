package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.storage.internals.log.OffsetIndex;
import org.apache.kafka.storage.internals.log.OffsetPosition;
import org.apache.kafka.storage.internals.log.ProducerStateManager;
import org.apache.kafka.storage.internals.log.TimeIndex;
import org.apache.kafka.storage.internals.log.TimestampOffset;
import org.apache.kafka.storage.internals.log.TransactionIndex;

import java.io.File;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;

/** OffsetIndex, TimeIndex, TransactionIndex and producer snapshots on given bytes. */
final class Indexes {

    private static final int MAX_INDEX_SIZE = 1 << 20;

    private Indexes() { }

    static Object answer(JsonNode request) throws Exception {
        long base = Json.longOf(request, "base_offset", 0);
        String kind = request.path("kind").asText();
        File file = new File(Json.scratch("index"), base + "." + kind);
        Files.write(file.toPath(), Json.bytes(request.get("bytes")));
        return switch (kind) {
            case "index" -> offsetIndex(request, file, base);
            case "timeindex" -> timeIndex(request, file, base);
            case "txnindex" -> txnIndex(request, file, base);
            default -> throw new IllegalArgumentException("no index " + kind);
        };
    }

    private static Object offsetIndex(JsonNode request, File file, long base) throws Exception {
        try (OffsetIndex index = new OffsetIndex(file, base, MAX_INDEX_SIZE)) {
            List<Object> entries = new ArrayList<>();
            for (int n = 0; n < index.entries(); n++) entries.add(pair(index.entry(n)));
            List<Object> lookups = new ArrayList<>();
            for (long key : Json.longs(request.path("lookups"))) lookups.add(pair(index.lookup(key)));
            return Json.object("entries", entries, "lookups", lookups, "last_offset", index.lastOffset(),
                "sanity", Json.orError(() -> {
                    index.sanityCheck();
                    return null;
                }),
                "after", truncations(request, target -> {
                    index.truncateTo(target);
                    return List.of(index.entries(), index.lastOffset());
                }));
        }
    }

    private static Object timeIndex(JsonNode request, File file, long base) throws Exception {
        try (TimeIndex index = new TimeIndex(file, base, MAX_INDEX_SIZE)) {
            List<Object> entries = new ArrayList<>();
            for (int n = 0; n < index.entries(); n++) entries.add(pair(index.entry(n)));
            List<Object> lookups = new ArrayList<>();
            for (long key : Json.longs(request.path("lookups"))) lookups.add(pair(index.lookup(key)));
            return Json.object("entries", entries, "lookups", lookups, "last_entry", pair(index.lastEntry()),
                "sanity", Json.orError(() -> {
                    index.sanityCheck();
                    return null;
                }),
                "after", truncations(request, target -> {
                    index.truncateTo(target);
                    return List.of(index.entries(), pair(index.lastEntry()));
                }));
        }
    }

    private static Object txnIndex(JsonNode request, File file, long base) throws Exception {
        try (TransactionIndex index = new TransactionIndex(base, file)) {
            List<Object> entries = new ArrayList<>();
            index.allAbortedTxns().forEach(txn -> entries.add(
                List.of(txn.producerId(), txn.firstOffset(), txn.lastOffset(), txn.lastStableOffset())));
            return Json.object("entries", entries,
                "sanity", Json.orError(() -> {
                    index.sanityCheck();
                    return null;
                }),
                "after", truncations(request, target -> {
                    index.truncateTo(target);
                    return List.of(index.allAbortedTxns().size(), file.length());
                }));
        }
    }

    static Object producerSnapshot(JsonNode request) throws Exception {
        File file = new File(Json.scratch("producer_snapshot"), "00000000000000000000.snapshot");
        Files.write(file.toPath(), Json.bytes(request.get("bytes")));
        List<Object> entries = new ArrayList<>();
        ProducerStateManager.readSnapshot(file).forEach(entry -> entries.add(OpenLog.producer(entry)));
        return Json.object("entries", entries);
    }

    private interface Truncation {
        Object to(long offset) throws Exception;
    }

    private static List<Object> truncations(JsonNode request, Truncation truncation) {
        List<Object> after = new ArrayList<>();
        for (long target : Json.longs(request.path("truncate_to"))) after.add(Json.orError(() -> truncation.to(target)));
        return after;
    }

    private static List<Object> pair(OffsetPosition entry) {
        return List.of(entry.offset(), entry.position());
    }

    private static List<Object> pair(TimestampOffset entry) {
        return List.of(entry.timestamp(), entry.offset());
    }
}
