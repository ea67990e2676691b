package kafka.server;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.LeaderEndPoint;
import org.apache.kafka.server.PartitionFetchState;
import org.apache.kafka.server.common.OffsetAndEpoch;

import java.util.Optional;

/** Says that a fetcher thread turned to remote storage; what is there is no part of it. */
public final class TierAccess extends TierStateMachine {

    public static final class RemoteStateIsAsked extends Exception { }

    private final Runnable asked;

    public TierAccess(LeaderEndPoint leader, Runnable asked) {
        super(leader, null, false);
        this.asked = asked;
    }

    @Override
    PartitionFetchState start(TopicPartition partition, Optional<Uuid> topicId, int epoch, OffsetAndEpoch begin, long leaderLogStartOffset) throws Exception {
        asked.run();
        throw new RemoteStateIsAsked();
    }
}
