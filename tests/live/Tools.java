import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.common.utils.internals.Exit;

/** Runs Kafka's command line tools one after the other: each line that is read is a main class and its words. */
public final class Tools {

    /** A tool may catch what its exit throws, and exit again: the first status counts. */
    private static final List<Integer> EXITS = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        Exit.setExitProcedure((status, message) -> {
            EXITS.add(status);
            throw new IllegalStateException("exit " + status);
        });
        var json = new ObjectMapper();
        var answers = System.out;
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = json.readValue(line, String[].class);
            var printed = new ByteArrayOutputStream();
            System.setOut(new PrintStream(printed, true));
            System.setErr(new PrintStream(printed, true));
            int status = run(words[0], Arrays.copyOfRange(words, 1, words.length));
            answers.println(json.writeValueAsString(Map.of("status", status, "printed", printed.toString())));
        }
    }

    private static int run(String main, String[] words) throws ReflectiveOperationException {
        EXITS.clear();
        try {
            Class.forName(main).getMethod("main", String[].class).invoke(null, (Object) words);
        } catch (InvocationTargetException ended) {
            if (EXITS.isEmpty()) EXITS.add(1);
        }
        return EXITS.isEmpty() ? 0 : EXITS.get(0);
    }
}
