package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ClearElrRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.FenceBrokerRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metadata.UnfenceBrokerRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.TopicImage;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.server.common.ApiMessageAndVersion;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/** Random records of a metadata log that fit each other, and the image that MetadataDelta makes of them. */
final class MetadataImages {

    private static final String[] SETTINGS = {"min.insync.replicas", "unclean.leader.election.enable", "retention.ms"};

    private final Random random;
    private final List<Object> values = new ArrayList<>();
    private MetadataImage image = MetadataImage.EMPTY;
    private MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();

    private MetadataImages(long seed) {
        random = new Random(seed);
    }

    static Object answer(JsonNode request) {
        MetadataImages made = new MetadataImages(request.get("seed").asLong());
        made.add(new FeatureLevelRecord().setName("metadata.version").setFeatureLevel((short) (20 + made.random.nextInt(5))), 0);
        for (int broker = 1; broker <= 4; broker++) made.register(broker);
        for (int done = 0; done < Json.intOf(request, "count", 60); done++) {
            made.step();
            if (made.random.nextInt(6) == 0) made.settle();
        }
        made.settle();
        return Json.object("values", made.values, "topics", made.topics(), "brokers", made.brokers(), "configs", made.configs(),
            "features", new TreeMap<>(made.image.features().finalizedVersions()));
    }

    private void add(ApiMessage message, int version) {
        ApiMessageAndVersion record = new ApiMessageAndVersion(message, (short) version);
        MetadataRecordSerde serde = MetadataRecordSerde.INSTANCE;
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(serde.recordSize(record, cache));
        serde.write(record, cache, new ByteBufferAccessor(buffer));
        values.add(Json.base64(buffer.array()));
        delta.replay(message);
    }

    private void settle() {
        image = delta.apply(new MetadataProvenance(values.size(), 1, 0, true));
        delta = new MetadataDelta.Builder().setImage(image).build();
    }

    private void register(int broker) {
        List<Uuid> dirs = new ArrayList<>();
        for (int n = random.nextInt(3); n > 0; n--) dirs.add(uuid());
        add(new RegisterBrokerRecord().setBrokerId(broker).setBrokerEpoch(values.size()).setIncarnationId(uuid())
            .setFenced(random.nextBoolean()).setInControlledShutdown(random.nextInt(5) == 0).setLogDirs(dirs), 3);
    }

    private Uuid uuid() {
        return new Uuid(random.nextLong(), random.nextLong());
    }

    private void step() {
        settle();
        List<TopicImage> topics = new ArrayList<>(image.topics().topicsById().values());
        topics.sort((one, other) -> one.name().compareTo(other.name()));
        TopicImage topic = topics.isEmpty() ? null : topics.get(random.nextInt(topics.size()));
        List<Integer> brokers = new ArrayList<>(new TreeMap<>(image.cluster().brokers()).keySet());
        int broker = brokers.isEmpty() ? -1 : brokers.get(random.nextInt(brokers.size()));
        long epoch = broker < 0 ? -1 : image.cluster().brokers().get(broker).epoch();
        switch (random.nextInt(topic == null ? 1 : 14)) {
            case 0 -> create();
            case 1 -> add(new RemoveTopicRecord().setTopicId(topic.id()), 0);
            case 2 -> register(1 + random.nextInt(6));
            case 3 -> {
                if (broker >= 0) add(new BrokerRegistrationChangeRecord().setBrokerId(broker).setBrokerEpoch(epoch)
                    .setFenced((byte) (random.nextInt(3) - 1)).setInControlledShutdown((byte) random.nextInt(2))
                    .setLogDirs(random.nextBoolean() ? List.of() : List.of(uuid())), 2);
            }
            case 4 -> {
                if (broker >= 0) add(random.nextBoolean() ? new FenceBrokerRecord().setId(broker).setEpoch(epoch)
                    : new UnfenceBrokerRecord().setId(broker).setEpoch(epoch), 0);
            }
            case 5 -> {
                if (brokers.size() > 2) add(new UnregisterBrokerRecord().setBrokerId(broker).setBrokerEpoch(epoch), 0);
            }
            case 6, 7 -> add(new ConfigRecord().setResourceType((byte) (random.nextInt(3) == 0 ? 4 : 2))
                .setResourceName(random.nextInt(3) == 0 ? "" : topic.name()).setName(SETTINGS[random.nextInt(SETTINGS.length)])
                .setValue(random.nextInt(3) == 0 ? null : "" + random.nextInt(4)), 0);
            case 8 -> add(new FeatureLevelRecord().setName("eligible.leader.replicas.version").setFeatureLevel((short) random.nextInt(2)), 0);
            case 9 -> add(new ClearElrRecord().setTopicName(random.nextBoolean() ? "" : topic.name()), 0);
            default -> change(topic);
        }
    }

    private void create() {
        Uuid id = uuid();
        add(new TopicRecord().setName("t" + values.size()).setTopicId(id), 0);
        for (int partition = random.nextInt(3); partition >= 0; partition--) {
            List<Integer> replicas = brokers(1);
            add(new PartitionRecord().setPartitionId(partition).setTopicId(id).setReplicas(replicas).setIsr(brokers(1))
                .setRemovingReplicas(random.nextInt(5) == 0 ? brokers(0) : List.of()).setAddingReplicas(random.nextInt(5) == 0 ? brokers(0) : List.of())
                .setLeader(random.nextInt(5) - 1).setLeaderRecoveryState((byte) random.nextInt(2)).setLeaderEpoch(random.nextInt(9))
                .setPartitionEpoch(random.nextInt(9)).setDirectories(random.nextBoolean() ? List.of() : dirs(replicas.size()))
                .setEligibleLeaderReplicas(random.nextBoolean() ? null : brokers(0)).setLastKnownElr(random.nextBoolean() ? null : brokers(0)), 2);
        }
    }

    private void change(TopicImage topic) {
        List<Integer> numbers = new ArrayList<>(new TreeMap<>(topic.partitions()).keySet());
        PartitionChangeRecord record = new PartitionChangeRecord().setTopicId(topic.id()).setPartitionId(numbers.get(random.nextInt(numbers.size())));
        if (random.nextBoolean()) record.setIsr(brokers(0));
        if (random.nextBoolean()) record.setLeader(random.nextInt(6) - 1);
        if (random.nextInt(4) == 0) {
            List<Integer> replicas = brokers(1);
            record.setReplicas(replicas);
            record.setDirectories(dirs(replicas.size()));
        }
        if (random.nextInt(4) == 0) record.setRemovingReplicas(brokers(0));
        if (random.nextInt(4) == 0) record.setAddingReplicas(brokers(0));
        if (random.nextInt(3) == 0) record.setLeaderRecoveryState((byte) random.nextInt(2));
        if (random.nextInt(3) == 0) record.setEligibleLeaderReplicas(brokers(0));
        if (random.nextInt(3) == 0) record.setLastKnownElr(brokers(0));
        add(record, 2);
    }

    private List<Integer> brokers(int least) {
        List<Integer> ids = new ArrayList<>(List.of(1, 2, 3, 4, 5, 6));
        java.util.Collections.shuffle(ids, random);
        return new ArrayList<>(ids.subList(0, least + random.nextInt(4)));
    }

    private List<Uuid> dirs(int count) {
        List<Uuid> dirs = new ArrayList<>();
        while (dirs.size() < count) dirs.add(uuid());
        return dirs;
    }

    private Object topics() {
        Map<String, Object> topics = new TreeMap<>();
        image.topics().topicsById().forEach((id, topic) -> {
            Map<String, Object> partitions = new TreeMap<>();
            topic.partitions().forEach((number, partition) -> partitions.put("" + number, partition(partition)));
            topics.put(id.toString(), Json.object("name", topic.name(), "partitions", partitions));
        });
        return topics;
    }

    private static Object partition(PartitionRegistration partition) {
        List<Object> directories = new ArrayList<>();
        for (Uuid directory : partition.directories) directories.add(directory.toString());
        return Json.object("replicas", Replicas.toList(partition.replicas), "isr", Replicas.toList(partition.isr), "leader", partition.leader,
            "leader_epoch", partition.leaderEpoch, "partition_epoch", partition.partitionEpoch, "elr", Replicas.toList(partition.elr),
            "last_known_elr", Replicas.toList(partition.lastKnownElr), "removing", Replicas.toList(partition.removingReplicas),
            "adding", Replicas.toList(partition.addingReplicas), "is_recovering", partition.leaderRecoveryState == LeaderRecoveryState.RECOVERING,
            "directories", directories);
    }

    private Object brokers() {
        Map<String, Object> brokers = new TreeMap<>();
        image.cluster().brokers().forEach((id, broker) -> {
            List<Object> directories = new ArrayList<>();
            broker.directories().forEach(directory -> directories.add(directory.toString()));
            brokers.put("" + id, Json.object("epoch", broker.epoch(), "is_fenced", broker.fenced(),
                "is_shutting_down", broker.inControlledShutdown(), "directories", directories));
        });
        return brokers;
    }

    private Object configs() {
        List<Object> configs = new ArrayList<>();
        image.configs().resourceData().forEach((resource, found) ->
            configs.add(List.of((int) resource.type().id(), resource.name(), new TreeMap<>(found.data()))));
        return configs;
    }
}
