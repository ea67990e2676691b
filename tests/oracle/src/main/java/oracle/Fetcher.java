package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import kafka.server.AbstractFetcherThread;
import kafka.server.FailedPartitions;
import kafka.server.InitialFetchState;
import kafka.server.OffsetTruncationState;
import kafka.server.TierAccess;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData.OffsetForLeaderPartition;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData.EpochEndOffset;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.server.LeaderEndPoint;
import org.apache.kafka.server.PartitionFetchState;
import org.apache.kafka.server.ReplicaFetch;
import org.apache.kafka.server.ResultWithPartitions;
import org.apache.kafka.server.common.OffsetAndEpoch;
import org.apache.kafka.server.network.BrokerEndPoint;
import org.apache.kafka.storage.internals.checkpoint.LeaderEpochCheckpointFile;
import org.apache.kafka.storage.internals.epoch.LeaderEpochFileCache;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

import java.io.File;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The rounds of a follower and a leader: AbstractFetcherThread over two LeaderEpochFileCaches. What the leader
 * answers to a fetch is written here as in Partition.readRecords and ReplicaManager.handleOffsetOutOfRangeError.
 */
final class Fetcher {

    private static final TopicPartition PARTITION = new TopicPartition("topic", 0);
    private static final int LEADER_EPOCH = 1_000_000;
    private static final int MOST_ROUNDS = 200;

    private Fetcher() { }

    static Object answer(JsonNode request) {
        List<Object> answers = new ArrayList<>();
        for (JsonNode node : request.get("cases")) answers.add(Json.orError(() -> meet(node)));
        return Json.object("cases", answers);
    }

    private static Object meet(JsonNode node) throws Exception {
        Log leader = new Log(node.get("leader"));
        Log follower = new Log(node.get("follower"));
        boolean onFetch = node.get("protocol").asText().equals("fetch");
        Leader end = new Leader(leader, onFetch);
        Follower thread = new Follower(end, follower);
        try {
            long initial = onFetch && follower.cache.latestEpoch().isPresent() ? follower.end : follower.highWatermark;
            thread.addPartitions(new scala.collection.immutable.Map.Map1<>(PARTITION,
                InitialFetchState.apply(scala.Option.empty(), end.brokerEndPoint(), LEADER_EPOCH, initial)));
            String outcome = "endless";
            for (int round = 0; round < MOST_ROUNDS; round++) {
                int before = thread.rounds.size();
                thread.doWork();
                if (thread.fetched) { outcome = "fetched"; break; }
                if (end.remoteStateIsAsked) { outcome = "tiered"; break; }
                if (end.wasOutOfRange && thread.rounds.size() == before) { outcome = "stuck"; break; }
                if (thread.failed.contains(PARTITION)) { outcome = "failed"; break; }
            }
            return Json.object("rounds", thread.rounds, "outcome", outcome, "log_end_offset", follower.end,
                "starts_anew", thread.startsAnew, "epochs", EpochCache.entries(follower.cache));
        } finally {
            thread.fetcherStats().unregister();
            thread.fetcherLagStats().unregister();
        }
    }

    /** What counts of a log. */
    private static final class Log {
        final LeaderEpochFileCache cache;
        final long start;
        final long localStart;
        final long highWatermark;
        long end;

        Log(JsonNode node) throws Exception {
            File file = LeaderEpochCheckpointFile.newFile(Json.scratch("fetcher"));
            Files.writeString(file.toPath(), EpochCache.checkpoint(node.get("epochs")));
            cache = new LeaderEpochFileCache(PARTITION, new LeaderEpochCheckpointFile(file, new LogDirFailureChannel(1)), new Settling());
            start = node.get("log_start_offset").asLong();
            localStart = Math.max(start, Json.longOf(node, "first_local_offset", 0));
            end = node.get("log_end_offset").asLong();
            highWatermark = node.get("high_watermark").asLong();
        }

        Optional<OffsetAndEpoch> endOffsetFor(int epoch) {
            Map.Entry<Integer, Long> found = cache.endOffsetFor(epoch, end);
            return found.getValue() == -1L ? Optional.empty() : Optional.of(new OffsetAndEpoch(found.getValue(), found.getKey()));
        }
    }

    private static final class Leader implements LeaderEndPoint {
        final Log log;
        final boolean onFetch;
        boolean wasOutOfRange;
        boolean remoteStateIsAsked;
        FetchRequest.PartitionData fetch;
        /** Fetch offset, last fetched epoch, requested epoch, answered epoch and end of the exchange that goes on. */
        List<Object> exchange;

        Leader(Log log, boolean onFetch) {
            this.log = log;
            this.onFetch = onFetch;
        }

        @Override public boolean isTruncationOnFetchSupported() { return onFetch; }
        @Override public void initiateClose() { }
        @Override public void close() { }
        @Override public BrokerEndPoint brokerEndPoint() { return new BrokerEndPoint(2, "leader", 9092); }
        @Override public OffsetAndEpoch fetchEarliestOffset(TopicPartition partition, int epoch) { return new OffsetAndEpoch(log.start, 0); }
        @Override public OffsetAndEpoch fetchLatestOffset(TopicPartition partition, int epoch) { return new OffsetAndEpoch(log.end, 0); }
        @Override public OffsetAndEpoch fetchEarliestLocalOffset(TopicPartition partition, int epoch) { return new OffsetAndEpoch(log.localStart, 0); }
        @Override public OffsetAndEpoch fetchEarliestPendingUploadOffset(TopicPartition partition, int epoch) { return new OffsetAndEpoch(-1, -1); }

        @Override public ResultWithPartitions<Optional<ReplicaFetch>> buildFetch(Map<TopicPartition, PartitionFetchState> states) {
            PartitionFetchState state = states.get(PARTITION);
            if (state == null || !state.isReadyForFetch()) return new ResultWithPartitions<>(Optional.empty(), Set.of());
            fetch = new FetchRequest.PartitionData(Uuid.ONE_UUID, state.fetchOffset(), 0, 1 << 20,
                Optional.of(state.currentLeaderEpoch()), onFetch ? state.lastFetchedEpoch() : Optional.empty());
            Map<TopicPartition, FetchRequest.PartitionData> data = Map.of(PARTITION, fetch);
            return new ResultWithPartitions<>(Optional.of(new ReplicaFetch(data, FetchRequest.Builder.forReplica((short) 17, 1, 1, 0, 1, data))), Set.of());
        }

        @Override public Map<TopicPartition, FetchResponseData.PartitionData> fetch(FetchRequest.Builder request) {
            FetchResponseData.PartitionData answer = new FetchResponseData.PartitionData();
            wasOutOfRange = fetch.fetchOffset < log.localStart || fetch.fetchOffset > log.end;
            Integer epoch = fetch.lastFetchedEpoch.orElse(null);
            exchange = Arrays.asList(fetch.fetchOffset, epoch, null, null, null);
            if (epoch != null) {
                Optional<OffsetAndEpoch> found = log.endOffsetFor(epoch);
                if (found.isEmpty() || fetch.fetchOffset < log.start) wasOutOfRange = true;
                else if (found.get().epoch() < epoch || found.get().offset() < fetch.fetchOffset) {
                    wasOutOfRange = false;
                    exchange = Arrays.asList(fetch.fetchOffset, epoch, null, found.get().epoch(), found.get().offset());
                    answer.setDivergingEpoch(new FetchResponseData.EpochEndOffset().setEpoch(found.get().epoch()).setEndOffset(found.get().offset()));
                }
            }
            boolean moved = wasOutOfRange && log.start <= fetch.fetchOffset && fetch.fetchOffset < log.localStart;
            if (moved) answer.setErrorCode(Errors.OFFSET_MOVED_TO_TIERED_STORAGE.code());
            else if (wasOutOfRange) answer.setErrorCode(Errors.OFFSET_OUT_OF_RANGE.code());
            return Map.of(PARTITION, answer);
        }

        @Override public Map<TopicPartition, EpochEndOffset> fetchEpochEndOffsets(Map<TopicPartition, OffsetForLeaderPartition> partitions) {
            int asked = partitions.get(PARTITION).leaderEpoch();
            EpochEndOffset answer = new EpochEndOffset().setPartition(PARTITION.partition());
            log.endOffsetFor(asked).ifPresent(found -> answer.setLeaderEpoch(found.epoch()).setEndOffset(found.offset()));
            exchange = Arrays.asList(null, null, asked, answer.leaderEpoch(), answer.endOffset());
            return Map.of(PARTITION, answer);
        }
    }

    private static final class Follower extends AbstractFetcherThread {
        final Leader end;
        final Log log;
        final FailedPartitions failed;
        final List<Object> rounds = new ArrayList<>();
        boolean fetched;
        boolean startsAnew;

        Follower(Leader end, Log log) {
            this(end, log, new FailedPartitions());
        }

        private Follower(Leader end, Log log, FailedPartitions failed) {
            super("fetcher", "fetcher", end, failed, new TierAccess(end, () -> end.remoteStateIsAsked = true), 0, false, new BrokerTopicStats());
            this.end = end;
            this.log = log;
            this.failed = failed;
        }

        private void add(long offset, boolean completed) {
            List<Object> round = new ArrayList<>(end.exchange == null ? Arrays.asList(offset, null, null, null, null) : end.exchange);
            round.add(offset);
            round.add(completed);
            rounds.add(round);
            end.exchange = null;
        }

        @Override public scala.Option<LogAppendInfo> processPartitionData(TopicPartition partition, long offset, int epoch, FetchResponseData.PartitionData data) {
            fetched = true;
            return scala.Option.empty();
        }

        @Override public void truncate(TopicPartition partition, OffsetTruncationState state) {
            add(state.offset(), state.truncationCompleted());
            log.end = Math.min(log.end, state.offset());
            log.cache.truncateFromEndAsyncFlush(log.end);
        }

        @Override public void truncateFullyAndStartAt(TopicPartition partition, long offset) {
            add(offset, true);
            startsAnew = true;
            log.end = offset;
            log.cache.clearAndFlush();
        }

        @Override public Optional<Integer> latestEpoch(TopicPartition partition) {
            Optional<Integer> epoch = log.cache.latestEpoch();
            return epoch;
        }

        @Override public long logStartOffset(TopicPartition partition) { return log.start; }
        @Override public long logEndOffset(TopicPartition partition) { return log.end; }
        @Override public Optional<OffsetAndEpoch> endOffsetForEpoch(TopicPartition partition, int epoch) { return log.endOffsetFor(epoch); }
        @Override public boolean shouldFetchFromLastTieredOffset(TopicPartition partition, long leaderEnd, long replicaEnd) { return false; }
    }
}
