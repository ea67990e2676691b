package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Requests to Java values, Java values to answers. */
final class Json {

    interface Question {
        Object ask() throws Exception;
    }

    private Json() { }

    /** An object of alternating names and values, in that order. */
    static Map<String, Object> object(Object... namesAndValues) {
        Map<String, Object> object = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2)
            object.put((String) namesAndValues[i], namesAndValues[i + 1]);
        return object;
    }

    static Map<String, Object> error(Throwable thrown) {
        Map<String, Object> error = object("error", thrown.getClass().getSimpleName(), "message", String.valueOf(thrown.getMessage()));
        if (thrown.getCause() != null) error.put("cause", thrown.getCause().getClass().getSimpleName());
        return error;
    }

    /** What the question answers, or the error it ends with, in its place. */
    static Object orError(Question question) {
        try {
            return question.ask();
        } catch (Throwable thrown) {
            return error(thrown);
        }
    }

    static List<Long> longs(JsonNode array) {
        List<Long> values = new ArrayList<>();
        array.forEach(item -> values.add(item.asLong()));
        return values;
    }

    static boolean given(JsonNode request, String name) {
        return request.hasNonNull(name);
    }

    static long longOf(JsonNode request, String name, long otherwise) {
        return given(request, name) ? request.get(name).asLong() : otherwise;
    }

    static int intOf(JsonNode request, String name, int otherwise) {
        return given(request, name) ? request.get(name).asInt() : otherwise;
    }

    static double doubleOf(JsonNode request, String name, double otherwise) {
        return given(request, name) ? request.get(name).asDouble() : otherwise;
    }

    static boolean booleanOf(JsonNode request, String name, boolean otherwise) {
        return given(request, name) ? request.get(name).asBoolean() : otherwise;
    }

    static byte[] bytes(JsonNode node) throws IOException {
        return Base64.getDecoder().decode(node.asText());
    }

    static String base64(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }

    /** Regular files of a directory: name to size in bytes. */
    static Map<String, Long> files(File directory) {
        Map<String, Long> files = new TreeMap<>();
        File[] found = directory.listFiles(File::isFile);
        if (found != null) Arrays.stream(found).forEach(file -> files.put(file.getName(), file.length()));
        return files;
    }

    /** The text of a file, null when there is none. */
    static String text(Path file) throws IOException {
        return Files.exists(file) ? Files.readString(file) : null;
    }

    /** An empty directory of this process for short-lived files. */
    static File scratch(String name) throws IOException {
        File directory = new File(System.getProperty("oracle.scratch", System.getProperty("java.io.tmpdir")), name);
        Files.createDirectories(directory.toPath());
        File[] old = directory.listFiles();
        if (old != null) for (File file : old) Files.delete(file.toPath());
        return directory;
    }
}
