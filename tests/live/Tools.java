import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;
import java.util.Map;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.common.utils.internals.Exit;

/** Runs Kafka's command line tools one after the other: each line that is read is a main class and its words. */
public final class Tools {

    private static final class Ended extends RuntimeException {
        private final int status;

        private Ended(int status) {
            this.status = status;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Exit.setExitProcedure((status, message) -> {
            throw new Ended(status);
        });
        var json = new ObjectMapper();
        var answers = System.out;
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = json.readValue(line, String[].class);
            var printed = new ByteArrayOutputStream();
            System.setOut(new PrintStream(printed, true));
            System.setErr(System.out);
            int status = run(words[0], Arrays.copyOfRange(words, 1, words.length));
            answers.println(json.writeValueAsString(Map.of("status", status, "printed", printed.toString())));
        }
    }

    private static int run(String main, String[] words) throws ReflectiveOperationException {
        try {
            Class.forName(main).getMethod("main", String[].class).invoke(null, (Object) words);
        } catch (InvocationTargetException ended) {
            if (ended.getCause() instanceof Ended known) return known.status;
            ended.getCause().printStackTrace();
            return 1;
        }
        return 0;
    }
}
