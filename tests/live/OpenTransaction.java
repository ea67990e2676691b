import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Map;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Opens a transaction (of version 2 where the cluster has it), and commits it when a line is read. */
public final class OpenTransaction {

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> config = Map.of(
            "bootstrap.servers", arguments[0], "transactional.id", arguments[2], "transaction.timeout.ms", 900000);
        var bytes = new ByteArraySerializer();
        try (var producer = new KafkaProducer<>(config, bytes, bytes)) {
            producer.initTransactions();
            producer.beginTransaction();
            for (int number = 0; number < 4; number++)
                producer.send(new ProducerRecord<>(arguments[1], 0, null, new byte[] {(byte) number})).get();
            System.out.println("sent");
            new BufferedReader(new InputStreamReader(System.in)).readLine();
            producer.commitTransaction();
            System.out.println("committed");
        }
    }
}
