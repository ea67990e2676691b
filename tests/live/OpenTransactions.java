import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Opens a transaction of each topic (of version 2 where the cluster has it), and commits all when a line is read. */
public final class OpenTransactions {

    public static void main(String[] arguments) throws Exception {
        List<KafkaProducer<byte[], byte[]>> producers = new ArrayList<>();
        for (String topic : Arrays.asList(arguments).subList(1, arguments.length)) {
            Map<String, Object> config = Map.of(
                "bootstrap.servers", arguments[0], "transactional.id", "to-" + topic, "transaction.timeout.ms", 900000);
            var bytes = new ByteArraySerializer();
            var producer = new KafkaProducer<>(config, bytes, bytes);
            producer.initTransactions();
            producer.beginTransaction();
            for (int number = 0; number < 4; number++)
                producer.send(new ProducerRecord<>(topic, 0, null, new byte[] {(byte) number})).get();
            producers.add(producer);
        }
        System.out.println("sent");
        System.in.read();
        producers.forEach(KafkaProducer::commitTransaction);
        System.out.println("committed");
    }
}
