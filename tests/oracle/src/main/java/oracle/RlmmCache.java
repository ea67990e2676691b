package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.server.log.remote.metadata.storage.RemoteLogMetadataCacheAccess;
import org.apache.kafka.server.log.remote.storage.RemoteLogMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;

/** RemoteLogMetadataCache fed with events, then asked. Segment lists are sorted: the cache's order is arbitrary. */
final class RlmmCache {

    private RlmmCache() { }

    static Object answer(JsonNode request) {
        RemoteLogMetadataCacheAccess cache = new RemoteLogMetadataCacheAccess(Json.booleanOf(request, "initialized", true));
        List<Object> applied = new ArrayList<>();
        for (JsonNode node : request.get("events")) applied.add(Json.orError(() -> {
            RemoteLogMetadata event = Rlmm.event(node);
            if (event instanceof RemoteLogSegmentMetadata segment) cache.add(segment);
            else if (event instanceof RemoteLogSegmentMetadataUpdate update) cache.update(update);
            else throw new UnsupportedOperationException("the cache takes segments and updates");
            return null;
        }));
        List<Object> lists = new ArrayList<>();
        List<Object> starts = new ArrayList<>();
        List<Object> highest = new ArrayList<>();
        for (long epoch : Json.longs(request.path("epochs"))) {
            lists.add(Json.orError(() -> sorted(cache.list((int) epoch))));
            starts.add(Json.orError(() -> starts(cache.list((int) epoch))));
            highest.add(cache.highestOffsetForEpoch((int) epoch).orElse(null));
        }
        List<Object> found = new ArrayList<>();
        for (JsonNode pair : request.path("lookups")) found.add(
            cache.segment(pair.get(0).asInt(), pair.get(1).asLong()).map(RlmmCache::identity).orElse(null));
        List<Object> next = new ArrayList<>();
        for (JsonNode pair : request.path("next_txn")) next.add(
            cache.nextWithTxnIndex(pair.get(0).asInt(), pair.get(1).asLong()).map(RlmmCache::identity).orElse(null));
        return Json.object("applied", applied, "list_all", sorted(cache.listAll()), "list", lists, "list_starts", starts,
            "highest_offset_for_epoch", highest, "lookups", found, "next_txn", next);
    }

    private static List<Object> starts(Iterator<RemoteLogSegmentMetadata> segments) {
        List<Object> found = new ArrayList<>();
        segments.forEachRemaining(segment -> found.add(segment.startOffset()));
        return found;
    }

    private static List<Object> sorted(Iterator<RemoteLogSegmentMetadata> segments) {
        List<RemoteLogSegmentMetadata> found = new ArrayList<>();
        segments.forEachRemaining(found::add);
        found.sort(Comparator.comparingLong(RemoteLogSegmentMetadata::startOffset).thenComparing(RlmmCache::identity));
        List<Object> fields = new ArrayList<>();
        found.forEach(segment -> fields.add(Rlmm.fields(segment)));
        return fields;
    }

    private static String identity(RemoteLogSegmentMetadata segment) {
        return segment.remoteLogSegmentId().id().toString();
    }
}
