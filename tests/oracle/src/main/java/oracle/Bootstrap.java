package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.metadata.bootstrap.BootstrapDirectory;

/** The bootstrap.checkpoint of a directory, as a node reads it at its start. */
final class Bootstrap {

    private Bootstrap() { }

    static Object answer(JsonNode request) throws Exception {
        BootstrapDirectory directory = new BootstrapDirectory(request.get("directory").asText());
        return Json.object("level", (int) directory.read().metadataVersion().featureLevel());
    }
}
