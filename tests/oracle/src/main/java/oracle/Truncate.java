package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;

import java.io.File;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/** UnifiedLog on a copy: loaded, truncated, closed, loaded again; what is on disk and in memory at each stage. */
final class Truncate {

    private Truncate() { }

    static Object answer(JsonNode request) {
        Map<String, Object> stages = new LinkedHashMap<>();
        File directory = new File(request.get("directory").asText());
        boolean state = Json.booleanOf(request, "state", true);
        OpenLog open = null;
        String stage = "loaded";
        try {
            open = OpenLog.load(request, directory, Json.booleanOf(request, "clean", true),
                Json.longOf(request, "log_start_offset", 0), Json.longOf(request, "recovery_point", 0));
            if (Json.given(request, "high_watermark")) open.log.updateHighWatermark(request.get("high_watermark").asLong());
            stages.put(stage, report(open, state));

            if (Json.given(request, "target")) {
                stage = "truncated";
                Boolean truncated = truncate(open, request);
                Map<String, Object> report = Json.object("truncated", truncated);
                report.putAll(report(open, state));
                stages.put(stage, report);
            }

            String restart = request.path("restart").asText("clean");
            if (!restart.equals("none")) {
                stage = "closed";
                long logStartOffset = open.log.logStartOffset();
                if (restart.equals("clean")) open.closeCleanly();
                else open.kill();
                long recoveryPoint = open.log.recoveryPoint();
                long highWatermark = open.log.highWatermark();
                open = null;
                stages.put(stage, disk(directory));

                stage = "reopened";
                open = OpenLog.load(request, directory, restart.equals("clean"), logStartOffset, recoveryPoint);
                open.log.updateHighWatermark(highWatermark);
                stages.put(stage, report(open, state));
            }
        } catch (Throwable thrown) {
            stages.put(stage, Json.error(thrown));
        } finally {
            if (open != null) open.kill();
        }
        return stages;
    }

    private static Boolean truncate(OpenLog open, JsonNode request) {
        long target = request.get("target").asLong();
        if (!Json.booleanOf(request, "fully", false)) return open.log.truncateTo(target);
        open.log.truncateFullyAndStartAt(target, Json.given(request, "target_log_start_offset")
            ? Optional.of(request.get("target_log_start_offset").asLong()) : Optional.empty());
        return null;
    }

    private static Map<String, Object> report(OpenLog open, boolean state) throws IOException {
        open.scheduler.settle();
        Map<String, Object> report = disk(open.log.dir());
        if (state) report.putAll(open.state());
        return report;
    }

    private static Map<String, Object> disk(File directory) throws IOException {
        return Json.object("files", Json.files(directory),
            "epoch_file", Json.text(LeaderEpochCheckpointFile.newFile(directory).toPath()));
    }
}
