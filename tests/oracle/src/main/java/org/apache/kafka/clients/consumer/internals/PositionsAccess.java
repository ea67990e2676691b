package org.apache.kafka.clients.consumer.internals;

import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.Metadata.LeaderAndEpoch;
import org.apache.kafka.clients.NodeApiVersions;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData.EpochEndOffset;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData.OffsetForLeaderTopicResult;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData.OffsetForLeaderTopicResultCollection;
import org.apache.kafka.common.requests.OffsetsForLeaderEpochResponse;
import org.apache.kafka.common.utils.internals.LogContext;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** A consumer that validates one position: SubscriptionState and OffsetsForLeaderEpochUtils, which are of its package. */
public final class PositionsAccess {

    private static final Node LEADER = new Node(1, "localhost", 9092);

    private PositionsAccess() { }

    /** What becomes of a position (epoch -1: none) after an answer: outcome, next offset and epoch. */
    public static Map<String, Object> validate(TopicPartition partition, long offset, int epoch, String reset, EpochEndOffset answered) {
        SubscriptionState state = new SubscriptionState(new LogContext(), AutoOffsetResetStrategy.fromString(reset));
        state.assignFromUser(Set.of(partition));
        LeaderAndEpoch leader = new LeaderAndEpoch(Optional.of(LEADER), Optional.of(0));
        Optional<Integer> known = epoch < 0 ? Optional.empty() : Optional.of(epoch);
        SubscriptionState.FetchPosition position = new SubscriptionState.FetchPosition(offset, known, leader);
        ApiVersions versions = new ApiVersions();
        versions.update(LEADER.idString(), NodeApiVersions.create());
        state.seekValidated(partition, new SubscriptionState.FetchPosition(offset, known, LeaderAndEpoch.noLeaderOrEpoch()));
        if (!state.maybeValidatePositionForCurrentLeader(versions, partition, leader)) return result("unchecked", state, partition);
        OffsetForLeaderEpochResponseData data = new OffsetForLeaderEpochResponseData().setTopics(new OffsetForLeaderTopicResultCollection(
            List.of(new OffsetForLeaderTopicResult().setTopic(partition.topic()).setPartitions(List.of(answered))).iterator()));
        OffsetsForLeaderEpochUtils.OffsetForEpochResult result = OffsetsForLeaderEpochUtils.handleResponse(
            Map.of(partition, position), new OffsetsForLeaderEpochResponse(data));
        if (result.partitionsToRetry().contains(partition)) return Map.of("outcome", "retry");
        EpochEndOffset end = result.endOffsets().get(partition);
        Optional<SubscriptionState.LogTruncation> truncation = state.maybeCompleteValidation(partition, position, end);
        if (truncation.isPresent()) {
            Map<String, Object> thrown = new LinkedHashMap<>(Map.of("outcome", "exception"));
            truncation.get().divergentOffsetOpt.ifPresent(divergent -> {
                thrown.put("divergent_offset", divergent.offset());
                thrown.put("divergent_epoch", divergent.leaderEpoch().orElse(null));
            });
            return thrown;
        }
        if (state.isOffsetResetNeeded(partition)) return Map.of("outcome", "reset", "strategy", state.resetStrategy(partition).name());
        return result("reads", state, partition);
    }

    private static Map<String, Object> result(String outcome, SubscriptionState state, TopicPartition partition) {
        SubscriptionState.FetchPosition position = state.position(partition);
        Map<String, Object> found = new LinkedHashMap<>(Map.of("outcome", outcome, "offset", position.offset));
        found.put("epoch", position.offsetEpoch.orElse(null));
        return found;
    }
}
