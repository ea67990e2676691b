package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.storage.internals.log.CleanerConfig;
import org.apache.kafka.storage.internals.log.LogCleaner;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogManager;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;

/** The LogManager of a broker on copies of its log dirs: started, its background tasks run, deletions due. */
final class LogManagers {

    private static final int PRODUCER_ID_EXPIRATION_MS = 86_400_000;
    private static final int DAY_MS = 86_400_000;
    /** Deletions schedule themselves anew. */
    private static final int ROUNDS = 3;

    private LogManagers() { }

    static Object answer(JsonNode request) throws IOException {
        List<File> dirs = new ArrayList<>();
        request.get("log_dirs").forEach(dir -> dirs.add(new File(dir.asText())));
        LogConfig config = OpenLog.config(request);
        Settling scheduler = new Settling();
        FixedTime time = new FixedTime(Json.longOf(request, "now_ms", 0));
        LogDirFailureChannel failures = new LogDirFailureChannel(dirs.size());
        Map<String, Object> answer = Json.object();
        LogManager manager = null;
        try {
            manager = new LogManager(dirs, List.of(),
                resource -> new Properties(), config, new CleanerConfig(false), 1, DAY_MS, DAY_MS, DAY_MS, DAY_MS, 300_000,
                new ProducerStateManagerConfig(PRODUCER_ID_EXPIRATION_MS, false), 600_000, scheduler, new BrokerTopicStats(),
                failures, time, Json.booleanOf(request, "remote_enabled", false), 0,
                LogCleaner::new);
            boolean strays = Json.booleanOf(request, "strays", false);
            manager.startup(Set.of(), log -> strays && log.topicId().isEmpty());
            Map<String, Object> logs = new TreeMap<>();
            for (UnifiedLog log : manager.allLogs()) logs.put(log.dir().getPath(), Json.object(
                "log_start_offset", log.logStartOffset(), "log_end_offset", log.logEndOffset(), "recovery_point", log.recoveryPoint(),
                "epochs", EpochCache.entries(log.leaderEpochCache())));
            answer.put("logs", logs);
            time.sleep(DAY_MS);
            scheduler.settle(ROUNDS);
        } catch (Throwable thrown) {
            answer.putAll(Json.error(thrown));
        }
        List<String> offline = new ArrayList<>();
        for (File dir : dirs) if (failures.hasOfflineLogDir(dir.getAbsolutePath())) offline.add(dir.getPath());
        answer.put("offline", offline);
        Map<String, Object> files = new TreeMap<>();
        for (File dir : dirs) for (File each : dir.listFiles(File::isDirectory)) files.put(each.getPath(), Json.files(each));
        answer.put("files", files);
        stop(manager, scheduler);
        return answer;
    }

    private static void stop(LogManager manager, Settling scheduler) {
        scheduler.forget();
        if (manager == null) return;
        try {
            manager.shutdown(-1);
        } catch (Throwable ignored) {
            // its log dirs are copies, and what was asked is answered
        }
    }
}
