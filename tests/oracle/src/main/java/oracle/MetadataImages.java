package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.Endpoint;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.AbortTransactionRecord;
import org.apache.kafka.common.metadata.AccessControlEntryRecord;
import org.apache.kafka.common.metadata.BeginTransactionRecord;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.ClearElrRecord;
import org.apache.kafka.common.metadata.ClientQuotaRecord;
import org.apache.kafka.common.metadata.ConfigRecord;
import org.apache.kafka.common.metadata.DelegationTokenRecord;
import org.apache.kafka.common.metadata.EndTransactionRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.FenceBrokerRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.ProducerIdsRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.RegisterControllerRecord;
import org.apache.kafka.common.metadata.RemoveAccessControlEntryRecord;
import org.apache.kafka.common.metadata.RemoveDelegationTokenRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.RemoveUserScramCredentialRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.metadata.UnfenceBrokerRecord;
import org.apache.kafka.common.metadata.UnregisterBrokerRecord;
import org.apache.kafka.common.metadata.UserScramCredentialRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.security.token.delegation.TokenInformation;
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
import java.util.Base64;
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
        if (Json.given(request, "values")) return replayed(request);
        MetadataImages made = new MetadataImages(request.get("seed").asLong());
        made.add(new FeatureLevelRecord().setName("metadata.version").setFeatureLevel((short) (20 + made.random.nextInt(5))), 0);
        for (int broker = 1; broker <= 4; broker++) made.register(broker);
        for (int done = 0; done < Json.intOf(request, "count", 60); done++) {
            made.step();
            if (made.random.nextInt(6) == 0) made.settle();
        }
        made.settle();
        Map<String, Object> answer = made.described();
        answer.put("values", made.values);
        return answer;
    }

    /** The images behind each of so many records that are given. */
    private static Object replayed(JsonNode request) {
        MetadataImages made = new MetadataImages(0);
        List<Object> images = new ArrayList<>();
        List<ApiMessage> pending = null;
        int number = 0;
        for (JsonNode value : request.get("values")) {
            if (!value.isNull()) {
                byte[] bytes = Base64.getDecoder().decode(value.asText());
                ApiMessage message = MetadataRecordSerde.INSTANCE.read(new ByteBufferAccessor(ByteBuffer.wrap(bytes)), bytes.length).message();
                if (message instanceof BeginTransactionRecord) {
                    pending = new ArrayList<>();
                } else if (message instanceof EndTransactionRecord || message instanceof AbortTransactionRecord) {
                    if (message instanceof EndTransactionRecord) pending.forEach(made.delta::replay);
                    pending = null;
                } else if (pending != null) {
                    pending.add(message);
                } else {
                    made.delta.replay(message);
                }
            }
            if (++number % request.get("every").asInt() == 0) {
                made.settle();
                images.add(made.described());
            }
        }
        return Json.object("images", images);
    }

    private Map<String, Object> described() {
        return Json.object("topics", topics(), "brokers", brokers(), "configs", configs(), "features", features(), "controllers", controllers(),
            "acls", acls(), "quotas", quotas(), "scram", scram(), "tokens", tokens(), "next_producer_id", image.producerIds().nextProducerId());
    }

    private Object features() {
        Map<String, Object> levels = new TreeMap<>(image.features().finalizedVersions());
        image.features().metadataVersion().ifPresent(version -> levels.put("metadata.version", version.featureLevel()));
        return levels;
    }

    private Object controllers() {
        Map<String, Object> controllers = new TreeMap<>();
        image.cluster().controllers().forEach((id, found) ->
            controllers.put("" + id, Json.object("incarnation_id", found.incarnationId().toString(), "endpoints", endpoints(found.listeners()))));
        return controllers;
    }

    private static Object endpoints(Map<String, Endpoint> listeners) {
        List<Object> endpoints = new ArrayList<>();
        new TreeMap<>(listeners).forEach((name, found) -> endpoints.add(List.of(name, found.host(), found.port(), found.securityProtocol().name)));
        return endpoints;
    }

    private Object acls() {
        Map<String, Object> acls = new TreeMap<>();
        image.acls().acls().forEach((id, acl) -> acls.put(id.toString(), List.of(acl.resourceType().name(), acl.resourceName(),
            acl.patternType().name(), acl.principal(), acl.host(), acl.operation().name(), acl.permissionType().name())));
        return acls;
    }

    private Object quotas() {
        List<Object> quotas = new ArrayList<>();
        image.clientQuotas().entities().forEach((entity, found) ->
            quotas.add(List.of(new TreeMap<>(entity.entries()), new TreeMap<>(found.quotas()))));
        return quotas;
    }

    private Object scram() {
        List<Object> scram = new ArrayList<>();
        image.scram().mechanisms().forEach((mechanism, users) ->
            users.forEach((user, found) -> scram.add(List.of(user, mechanism.mechanismName(), found.iterations()))));
        return scram;
    }

    private Object tokens() {
        Map<String, Object> tokens = new TreeMap<>();
        image.delegationTokens().tokens().forEach((id, found) -> {
            TokenInformation token = found.tokenInformation();
            tokens.put(id, List.of(token.ownerAsString(), token.tokenRequesterAsString(), new ArrayList<>(token.renewersAsString()),
                token.issueTimestamp(), token.expiryTimestamp(), token.maxTimestamp()));
        });
        return tokens;
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
            .setFenced(random.nextBoolean()).setInControlledShutdown(random.nextInt(5) == 0).setLogDirs(dirs)
            .setRack(random.nextBoolean() ? null : "r" + random.nextInt(3)).setCordonedLogDirs(random.nextBoolean() ? null : dirs(random.nextInt(2)))
            .setEndPoints(new RegisterBrokerRecord.BrokerEndpointCollection(List.of(
                new RegisterBrokerRecord.BrokerEndpoint().setName("PLAINTEXT").setHost("b" + broker).setPort(9092).setSecurityProtocol((short) 0)).iterator())), 4);
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
        switch (random.nextInt(topic == null ? 1 : 22)) {
            case 0 -> create();
            case 1 -> add(new RemoveTopicRecord().setTopicId(topic.id()), 0);
            case 2 -> register(1 + random.nextInt(6));
            case 3 -> {
                if (broker >= 0) add(new BrokerRegistrationChangeRecord().setBrokerId(broker).setBrokerEpoch(epoch)
                    .setFenced((byte) (random.nextInt(3) - 1)).setInControlledShutdown((byte) random.nextInt(2))
                    .setLogDirs(random.nextBoolean() ? List.of() : List.of(uuid()))
                    .setCordonedLogDirs(random.nextBoolean() ? null : dirs(random.nextInt(2))), 3);
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
            case 10 -> add(new AccessControlEntryRecord().setId(uuid()).setResourceType((byte) (2 + random.nextInt(5))).setResourceName("r")
                .setPatternType((byte) (3 + random.nextInt(2))).setPrincipal("User:u" + random.nextInt(3)).setHost("*")
                .setOperation((byte) (2 + random.nextInt(14))).setPermissionType((byte) (2 + random.nextInt(2))), 0);
            case 11 -> {
                List<Uuid> ids = new ArrayList<>(image.acls().acls().keySet());
                java.util.Collections.sort(ids);
                if (!ids.isEmpty()) add(new RemoveAccessControlEntryRecord().setId(ids.get(random.nextInt(ids.size()))), 0);
            }
            case 12 -> {
                List<ClientQuotaRecord.EntityData> entity = new ArrayList<>(List.of(
                    new ClientQuotaRecord.EntityData().setEntityType("user").setEntityName(random.nextBoolean() ? null : "u")));
                if (random.nextBoolean()) entity.add(random.nextInt(2), new ClientQuotaRecord.EntityData().setEntityType("client-id").setEntityName("c"));
                add(new ClientQuotaRecord().setEntity(entity).setKey(random.nextBoolean() ? "producer_byte_rate" : "request_percentage")
                    .setValue(random.nextInt(9) / 4.0).setRemove(random.nextInt(3) == 0), 0);
            }
            case 13 -> add(new UserScramCredentialRecord().setName("u" + random.nextInt(2)).setMechanism((byte) (1 + random.nextInt(2)))
                .setSalt(new byte[] {1}).setStoredKey(new byte[] {2}).setServerKey(new byte[] {3}).setIterations(4096 + random.nextInt(9)), 0);
            case 14 -> add(new RemoveUserScramCredentialRecord().setName("u" + random.nextInt(2)).setMechanism((byte) (1 + random.nextInt(2))), 0);
            case 15 -> add(new DelegationTokenRecord().setOwner("User:o").setRequester("User:q").setRenewers(random.nextBoolean() ? List.of() : List.of("User:r"))
                .setIssueTimestamp(1).setMaxTimestamp(9).setExpirationTimestamp(5 + random.nextInt(3)).setTokenId("t" + random.nextInt(3)), 0);
            case 16 -> add(random.nextBoolean() ? new RemoveDelegationTokenRecord().setTokenId("t" + random.nextInt(3))
                : new ProducerIdsRecord().setBrokerId(1).setBrokerEpoch(1).setNextProducerId(1000L * values.size()), 0);
            case 17 -> add(new RegisterControllerRecord().setControllerId(100 + random.nextInt(3)).setIncarnationId(uuid())
                .setEndPoints(new RegisterControllerRecord.ControllerEndpointCollection(List.of(new RegisterControllerRecord.ControllerEndpoint()
                    .setName("CONTROLLER").setHost("c").setPort(9093).setSecurityProtocol((short) 1)).iterator())), 0);
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
                "is_shutting_down", broker.inControlledShutdown(), "directories", directories, "incarnation_id", broker.incarnationId().toString(),
                "rack", broker.rack().orElse(null), "endpoints", endpoints(broker.listeners()),
                "cordoned", broker.cordonedDirectories() == null ? null : broker.cordonedDirectories().stream().map(Uuid::toString).toList()));
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
