package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.utils.internals.Exit;
import org.apache.kafka.tools.DumpLogSegments;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** What DumpLogSegments prints for given arguments. It may create and trim indexes: only on copies. */
final class Dump {

    private static final class Ended extends RuntimeException {
        final int status;

        Ended(int status) {
            this.status = status;
        }
    }

    private Dump() { }

    static Object answer(JsonNode request) {
        List<String> arguments = new ArrayList<>();
        request.get("arguments").forEach(argument -> arguments.add(argument.asText()));
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        PrintStream systemOut = System.out;
        PrintStream systemErr = System.err;
        System.setOut(new PrintStream(out, false, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, false, StandardCharsets.UTF_8));
        Exit.setExitProcedure((status, message) -> {
            throw new Ended(status);
        });
        Object thrown = null;
        Integer status = 0;
        try {
            DumpLogSegments.main(arguments.toArray(new String[0]));
        } catch (Ended ended) {
            status = ended.status;
        } catch (Throwable failure) {
            thrown = Json.error(failure);
            status = 1;
        } finally {
            System.out.flush();
            System.err.flush();
            System.setOut(systemOut);
            System.setErr(systemErr);
            Exit.resetExitProcedure();
        }
        return Json.object("stdout", out.toString(StandardCharsets.UTF_8), "stderr", err.toString(StandardCharsets.UTF_8),
            "status", status, "thrown", thrown);
    }
}
