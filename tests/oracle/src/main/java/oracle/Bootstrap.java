package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.metadata.bootstrap.BootstrapMetadata;

import java.nio.file.Path;

/** The bootstrap.checkpoint of a directory, as a node reads it at its start. */
final class Bootstrap {

    private Bootstrap() { }

    static Object answer(JsonNode request) throws Exception {
        BootstrapMetadata metadata = BootstrapMetadata.fromDirectory(Path.of(request.get("directory").asText()));
        return Json.object("level", (int) metadata.metadataVersion().featureLevel());
    }
}
