import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ExecutionException;

import com.fasterxml.jackson.databind.ObjectMapper;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.StreamsGroupDescription;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.internals.AsyncKafkaConsumer;
import org.apache.kafka.clients.consumer.internals.StreamsRebalanceData;
import org.apache.kafka.clients.consumer.internals.StreamsRebalanceListener;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Has groups of Kafka's own clients that read a topic; after a line is read prints what the broker says of them; ends after another. */
public final class OtherGroups {

    private static final String CLASSIC = "g-java";
    private static final String SHARE = "g-share";
    private static final String STREAMS = "g-streams";

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        int records = Integer.parseInt(arguments[2]);
        var bytes = new ByteArrayDeserializer();
        Map<String, Object> config = Map.of("bootstrap.servers", arguments[0]);
        var line = new BufferedReader(new InputStreamReader(System.in));
        try (var admin = Admin.create(config);
             var share = new KafkaShareConsumer<>(of(config, SHARE), bytes, bytes);
             var classic = new KafkaConsumer<>(of(config, CLASSIC), bytes, bytes);
             var streams = new AsyncKafkaConsumer<>(new ConsumerConfig(of(config, STREAMS)), bytes, bytes, Optional.of(reads(topic)))) {
            admin.deleteConsumerGroupOffsets("g-dropped", Set.of(new TopicPartition(topic, 0))).all().get();
            var earliest = new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, SHARE), List.of(earliest))).all().get();
            share.subscribe(List.of(topic));
            for (int seen = 0; seen < records; ) seen += share.poll(Duration.ofMillis(200)).count();
            share.commitSync();
            classic.subscribe(List.of(topic));
            while (classic.assignment().isEmpty()) classic.poll(Duration.ofMillis(200));
            // the coordinator deletes an empty group without offsets at its next look
            classic.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(1)));
            streams.subscribe(List.of(topic), new Assigned());
            do streams.poll(Duration.ofMillis(200));
            while (streamsGroup(admin).map(StreamsGroupDescription::groupState).orElse(null) != GroupState.STABLE);
            System.out.println("ready");
            line.readLine();
            Map<String, Object> said = said(admin);
            said.put("generation", classic.groupMetadata().generationId());
            System.out.println(new ObjectMapper().writeValueAsString(said));
            line.readLine();
        }
    }

    private static Optional<StreamsGroupDescription> streamsGroup(Admin admin) throws InterruptedException {
        try {
            return Optional.of(admin.describeStreamsGroups(List.of(STREAMS)).all().get().get(STREAMS));
        } catch (ExecutionException notYet) {
            return Optional.empty();
        }
    }

    private static Map<String, Object> of(Map<String, Object> config, String group) {
        return Map.of("bootstrap.servers", config.get("bootstrap.servers"), "group.id", group, "client.id", group,
            "key.deserializer", ByteArrayDeserializer.class, "value.deserializer", ByteArrayDeserializer.class);
    }

    private static StreamsRebalanceData reads(String topic) {
        var only = new StreamsRebalanceData.Subtopology(Set.of(topic), Set.of(), Map.of(), Map.of(), List.of());
        return new StreamsRebalanceData(UUID.randomUUID(), Optional.empty(), Optional.empty(), Map.of("0", only), Map.of(), Map::of, Map::of);
    }

    private static Map<String, Object> said(Admin admin) throws Exception {
        List<Object> members = new ArrayList<>();
        var share = admin.describeShareGroups(List.of(SHARE)).all().get().get(SHARE);
        share.members().forEach(one -> members.add(List.of(SHARE, one.consumerId(), one.clientId(), one.host(),
            one.assignment().topicPartitions().stream().map(TopicPartition::partition).sorted().toList())));
        var streams = streamsGroup(admin).get();
        streams.members().forEach(one -> members.add(List.of(STREAMS, one.memberId(), one.clientId(), one.clientHost(),
            one.assignment().activeTasks().stream().flatMap(task -> task.partitions().stream()).sorted().toList())));
        List<Object> starts = new ArrayList<>();
        admin.listShareGroupOffsets(Map.of(SHARE, new ListShareGroupOffsetsSpec())).partitionsToOffsetInfo(SHARE).get()
            .forEach((place, info) -> starts.add(List.of(place.partition(), info.startOffset(), info.lag().orElse(-1L))));
        Map<String, Object> groups = new TreeMap<>();
        admin.listGroups().all().get().forEach(one ->
            groups.put(one.groupId(), List.of(one.type().get().toString().toLowerCase(), one.groupState().get().toString())));
        var consumer = admin.describeConsumerGroups(List.of("g-consumer")).all().get().get("g-consumer");
        return new TreeMap<>(Map.of("groups", groups, "members", members, "starts", starts, "epochs",
            Map.of(SHARE, share.groupEpoch(), STREAMS, streams.groupEpoch(), "g-consumer", consumer.groupEpoch().get())));
    }

    private static final class Assigned implements StreamsRebalanceListener {
        @Override
        public void onTasksRevoked(Set<StreamsRebalanceData.TaskId> tasks) { }

        @Override
        public void onTasksAssigned(StreamsRebalanceData.Assignment assignment) { }

        @Override
        public void onAllTasksLost() { }
    }
}
