package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.message.ListGroupsResponseData;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestGroup;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestTopics;
import org.apache.kafka.common.message.OffsetFetchResponseData.OffsetFetchResponseTopics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.coordinator.common.runtime.CoordinatorExecutor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorTimer;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.generated.OffsetCommitKey;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
import org.apache.kafka.timeline.SnapshotRegistry;

import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Records of __consumer_offsets, as CoordinatorLoaderImpl gives them to a GroupCoordinatorShard, and what it answers. */
final class Groups {

    private static final GroupCoordinatorRecordSerde SERDE = new GroupCoordinatorRecordSerde();

    private Groups() { }

    static Object answer(JsonNode request) throws Exception {
        FixedTime time = new FixedTime(0);
        SnapshotRegistry registry = new SnapshotRegistry(new LogContext());
        GroupCoordinatorShard shard = shard(time, registry);
        int number = 0;
        Map<String, Object> error = null;
        for (JsonNode record : request.get("records")) {
            try {
                take(shard, number, record);
            } catch (Throwable thrown) {
                error = Json.error(thrown);
                break;
            }
            number++;
        }
        if (error != null) return Json.object("read", number, "error", error);
        registry.idempotentCreateSnapshot(number);
        Map<String, Object> groups = new TreeMap<>();
        List<Object> offsets = new ArrayList<>();
        for (ListGroupsResponseData.ListedGroup group : shard.listGroups(List.of(), List.of(), Long.MAX_VALUE)) {
            groups.put(group.groupId(), List.of(group.groupType().toLowerCase(), group.groupState()));
            if (!group.groupType().equalsIgnoreCase("share")) fetched(shard, group.groupId(), number, request, offsets);
        }
        List<Object> expired = new ArrayList<>();
        for (JsonNode now : request.get("times")) {
            time.now = now.longValue();
            expired.add(shard.cleanupGroupMetadata().records().stream()
                .filter(one -> one.key() instanceof OffsetCommitKey).map(one -> (OffsetCommitKey) one.key())
                .map(key -> List.of(key.group(), key.topic(), key.partition())).toList());
        }
        return Json.object("read", number, "error", null, "groups", groups, "offsets", offsets, "expired", expired);
    }

    /** Offset, epoch and metadata of each commit of a group, and whether one of a transaction is pending there. */
    private static void fetched(GroupCoordinatorShard shard, String group, long end, JsonNode request, List<Object> offsets) {
        List<OffsetFetchRequestTopics> topics = new ArrayList<>();
        request.get("topics").properties().forEach(topic -> {
            List<Integer> numbers = new ArrayList<>();
            for (int number = 0; number < topic.getValue().asInt(); number++) numbers.add(number);
            topics.add(new OffsetFetchRequestTopics().setName(topic.getKey()).setPartitionIndexes(numbers));
        });
        OffsetFetchRequestGroup asked = new OffsetFetchRequestGroup().setGroupId(group).setTopics(topics);
        var stable = shard.fetchOffsets(asked, Long.MAX_VALUE).topics();
        var counting = shard.fetchOffsets(asked, end).topics();
        for (int topic = 0; topic < counting.size(); topic++) {
            OffsetFetchResponseTopics found = counting.get(topic);
            for (int number = 0; number < found.partitions().size(); number++) {
                var one = found.partitions().get(number);
                boolean isPending = stable.get(topic).partitions().get(number).errorCode() == Errors.UNSTABLE_OFFSET_COMMIT.code();
                if (one.committedOffset() >= 0 || isPending) {
                    offsets.add(List.of(group, found.name(), one.partitionIndex(), one.committedOffset(), one.committedLeaderEpoch(),
                        String.valueOf(one.metadata()), isPending));
                }
            }
        }
    }

    private static void take(GroupCoordinatorShard shard, long offset, JsonNode record) {
        long producerId = record.get(0).longValue();
        if (record.get(1).isBoolean()) {
            TransactionResult result = record.get(1).booleanValue() ? TransactionResult.COMMIT : TransactionResult.ABORT;
            shard.replayEndTransactionMarker(producerId, (short) 0, result);
            return;
        }
        CoordinatorRecord found;
        try {
            found = SERDE.deserialize(buffer(record.get(1)), buffer(record.get(2)));
        } catch (RuntimeException unknown) {
            if (unknown.getClass().getSimpleName().equals("UnknownRecordTypeException")) return;
            throw unknown;
        }
        shard.replay(offset, producerId, (short) (producerId < 0 ? -1 : 0), found);
    }

    private static ByteBuffer buffer(JsonNode text) {
        return text.isNull() ? null : ByteBuffer.wrap(Base64.getDecoder().decode(text.asText()));
    }

    private static GroupCoordinatorShard shard(FixedTime time, SnapshotRegistry registry) {
        GroupCoordinatorConfig config = GroupCoordinatorConfig.fromProps(Map.of());
        ShareGroupConfig shares = new ShareGroupConfig(
            new AbstractConfig(Utils.mergeConfigs(List.of(GroupCoordinatorConfig.CONFIG_DEF, ShareGroupConfig.CONFIG_DEF)), Map.of()));
        GroupCoordinatorShard.Builder builder = new GroupCoordinatorShard.Builder(config, new GroupConfigManager(config, shares));
        builder.withLogContext(new LogContext());
        builder.withSnapshotRegistry(registry);
        builder.withTime(time);
        builder.withTimer(idle(CoordinatorTimer.class));
        builder.withExecutor(idle(CoordinatorExecutor.class));
        builder.withCoordinatorMetrics(new GroupCoordinatorMetrics());
        builder.withTopicPartition(new TopicPartition("__consumer_offsets", 0));
        builder.withAuthorizerPlugin(Optional.empty());
        return builder.build();
    }

    /** What does nothing, and says false. */
    @SuppressWarnings("unchecked")
    private static <T> T idle(Class<?> type) {
        return (T) Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type},
            (proxy, method, arguments) -> method.getReturnType() == boolean.class ? false : null);
    }
}
