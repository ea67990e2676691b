package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;

import java.io.File;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/** LeaderEpochFileCache over LeaderEpochCheckpointFile: load, change, ask. */
final class EpochCache {

    private EpochCache() { }

    static Object answer(JsonNode request) throws Exception {
        File directory = Json.scratch("epoch_cache");
        File file = LeaderEpochCheckpointFile.newFile(directory);
        Files.writeString(file.toPath(), checkpoint(request.get("entries")));
        LeaderEpochFileCache cache = new LeaderEpochFileCache(
            new TopicPartition("topic", 0), new LeaderEpochCheckpointFile(file, new LogDirFailureChannel(1)), new Settling());
        Object loaded = entries(cache);
        List<Object> after = new ArrayList<>();
        for (JsonNode operation : request.path("operations")) after.add(Json.orError(() -> {
            apply(cache, operation);
            return entries(cache);
        }));

        List<Object> endOffsets = new ArrayList<>();
        for (long epoch : Json.longs(request.path("end_offset_for"))) {
            Map.Entry<Integer, Long> end = cache.endOffsetFor((int) epoch, request.get("log_end_offset").asLong());
            endOffsets.add(List.of(end.getKey(), end.getValue()));
        }
        List<Object> epochs = new ArrayList<>();
        for (long offset : Json.longs(request.path("epoch_for_offset"))) {
            OptionalInt epoch = cache.epochForOffset(offset);
            epochs.add(epoch.isPresent() ? epoch.getAsInt() : null);
        }
        return Json.object("loaded", loaded, "after", after, "end_offset_for", endOffsets, "epoch_for_offset", epochs);
    }

    static List<Object> entries(LeaderEpochFileCache cache) {
        List<Object> entries = new ArrayList<>();
        cache.epochEntries().forEach(entry -> entries.add(List.of(entry.epoch(), entry.startOffset())));
        return entries;
    }

    private static void apply(LeaderEpochFileCache cache, JsonNode operation) {
        switch (operation.get(0).asText()) {
            case "assign" -> cache.assign(operation.get(1).asInt(), operation.get(2).asLong());
            case "truncate_from_end" -> cache.truncateFromEndAsyncFlush(operation.get(1).asLong());
            case "truncate_from_start" -> cache.truncateFromStartAsyncFlush(operation.get(1).asLong());
            case "clear" -> cache.clearAndFlush();
            default -> throw new IllegalArgumentException("no epoch operation " + operation);
        }
    }

    static String checkpoint(JsonNode entries) {
        StringBuilder text = new StringBuilder("0\n").append(entries.size()).append('\n');
        entries.forEach(pair -> text.append(pair.get(0).asText()).append(' ').append(pair.get(1).asText()).append('\n'));
        return text.toString();
    }
}
