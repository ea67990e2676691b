package oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Kafka's own classes as a judge: one JSON request a line on stdin, one JSON answer a line on stdout. */
public final class Main {

    private interface Operation {
        Object answer(JsonNode request) throws Exception;
    }

    private static final Map<String, Operation> OPERATIONS = Map.ofEntries(
        Map.entry("ping", request -> Map.of("java", System.getProperty("java.version"))),
        Map.entry("epoch_cache", EpochCache::answer),
        Map.entry("truncate", Truncate::answer),
        Map.entry("log_manager", LogManagers::answer),
        Map.entry("lookup", Lookup::answer),
        Map.entry("metadata_log", MetadataLog::answer),
        Map.entry("metadata_snapshot", MetadataLog::snapshot),
        Map.entry("bootstrap", Bootstrap::answer),
        Map.entry("records", Formats::records),
        Map.entry("offset_checkpoint", Formats::offsetCheckpoint),
        Map.entry("rlmm_decode", Rlmm::decode),
        Map.entry("rlmm_encode", Rlmm::encode),
        Map.entry("partition_change", Elections::answer),
        Map.entry("metadata_image", MetadataImages::answer),
        Map.entry("follow", Fetcher::answer),
        Map.entry("ballot", Elections::ballots),
        Map.entry("positions", Positions::answer),
        Map.entry("partition_for", Partitions::answer),
        Map.entry("rlmm_cache", RlmmCache::answer),
        Map.entry("remote_lineage", RemoteLineage::answer),
        Map.entry("remote_log", RemoteLog::answer),
        Map.entry("groups", Groups::answer),
        Map.entry("transactions", Transactions::answer),
        Map.entry("message_types", Messages::types),
        Map.entry("messages", Messages::random),
        Map.entry("messages_decode", Messages::decode),
        Map.entry("write_log", WriteLog::answer),
        Map.entry("retention", Retention::answer),
        Map.entry("compact", Compact::answer),
        Map.entry("dump", Dump::answer)
    );

    private Main() { }

    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        OutputStream out = System.out;
        // stdout carries answers only: whatever Kafka prints goes to stderr
        System.setOut(new PrintStream(System.err, true, StandardCharsets.UTF_8));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            byte[] answer = mapper.writeValueAsBytes(answer(mapper, line));
            out.write(answer);
            out.write('\n');
            out.flush();
        }
    }

    private static Object answer(ObjectMapper mapper, String line) {
        try {
            JsonNode request = mapper.readTree(line);
            String name = request.path("op").asText();
            Operation operation = OPERATIONS.get(name);
            if (operation == null) throw new IllegalArgumentException("no operation " + name);
            return operation.answer(request);
        } catch (Throwable thrown) {
            return Json.error(thrown);
        }
    }
}
