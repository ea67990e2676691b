package org.apache.kafka.server.log.remote.storage;

import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.log.remote.metadata.storage.RemoteLogMetadataCacheAccess;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

import java.io.ByteArrayInputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** RemoteLogManager of one partition: its metadata in a RemoteLogMetadataCache, its segments in a directory. */
public final class StoredRemoteLogs extends RemoteLogManager {

    private final Storage storage;
    private final Metadata metadata;
    private final TopicIdPartition partition;
    private final long[] logStart;

    public static StoredRemoteLogs of(TopicIdPartition partition, UnifiedLog log, RemoteLogMetadataCacheAccess cache, File storage, File logDir, Time time)
            throws Exception {
        Storage.next = new Storage(storage);
        Metadata.next = new Metadata(cache);
        return new StoredRemoteLogs(partition, log, logDir, time, new long[] {-1});
    }

    private StoredRemoteLogs(TopicIdPartition partition, UnifiedLog log, File logDir, Time time, long[] logStart) throws Exception {
        super(new RemoteLogManagerConfig(new AbstractConfig(RemoteLogManagerConfig.configDef(), Map.of(
                RemoteLogManagerConfig.REMOTE_STORAGE_MANAGER_CLASS_NAME_PROP, Storage.class.getName(),
                RemoteLogManagerConfig.REMOTE_LOG_METADATA_MANAGER_LISTENER_NAME_PROP, "none"), false)),
            1, logDir.getPath(), "cluster", time, asked -> Optional.of(log), (asked, offset) -> logStart[0] = offset,
            new BrokerTopicStats(true), new Metrics(), Optional.empty());
        this.partition = partition;
        this.storage = Storage.next;
        this.metadata = Metadata.next;
        this.logStart = logStart;
        Method register = RemoteLogManager.class.getDeclaredMethod("cacheTopicPartitionIds", TopicIdPartition.class);
        register.setAccessible(true);
        register.invoke(this, partition);
    }

    @Override
    RemoteStorageManager createRemoteStorageManager() {
        return Storage.next;
    }

    @Override
    RemoteLogMetadataManager createRemoteLogMetadataManager() {
        return Metadata.next;
    }

    /** What a leader does when it begins: where its log begins, and how far it is copied. */
    public void lead(UnifiedLog log) throws Exception {
        log.updateLogStartOffsetFromRemoteTier(findLogStartOffset(partition, log));
        log.updateHighestOffsetInRemoteStorage(findHighestRemoteOffset(partition, log).offset());
    }

    /** Ids of the segments that a clean-up deletes, in order. */
    public List<String> cleanUp() throws Exception {
        new RLMExpirationTask(partition).cleanupExpiredRemoteLogSegments();
        return storage.deleted;
    }

    /** The log start offset that the clean-up asked for. */
    public OptionalLong logStartAfter() {
        return logStart[0] < 0 ? OptionalLong.empty() : OptionalLong.of(logStart[0]);
    }

    /** Ids of the segments that were read, in order; forgotten then. */
    public List<String> read() {
        List<String> read = new ArrayList<>(storage.read);
        storage.read.clear();
        return read;
    }

    private static final class Storage implements RemoteStorageManager {
        static Storage next;
        final List<String> deleted = new ArrayList<>();
        final List<String> read = new ArrayList<>();
        private final File directory;

        Storage(File directory) {
            this.directory = directory;
        }

        private byte[] bytes(RemoteLogSegmentMetadata segment, String extension) throws RemoteStorageException {
            TopicIdPartition of = segment.topicIdPartition();
            File above = new File(directory, of.topic() + "-" + of.partition() + "-" + of.topicId());
            String name = String.format("%020d-%s.%s", segment.startOffset(), segment.remoteLogSegmentId().id(), extension);
            try {
                return Files.readAllBytes(new File(above, name).toPath());
            } catch (IOException missing) {
                throw new RemoteResourceNotFoundException(missing);
            }
        }

        @Override
        public InputStream fetchLogSegment(RemoteLogSegmentMetadata segment, int start) throws RemoteStorageException {
            byte[] log = bytes(segment, "log");
            read.add(segment.remoteLogSegmentId().id().toString());
            return new ByteArrayInputStream(log, start, log.length - start);
        }

        @Override
        public InputStream fetchLogSegment(RemoteLogSegmentMetadata segment, int start, int end) throws RemoteStorageException {
            return new ByteArrayInputStream(bytes(segment, "log"), start, end + 1 - start);
        }

        @Override
        public InputStream fetchIndex(RemoteLogSegmentMetadata segment, IndexType type) throws RemoteStorageException {
            return new ByteArrayInputStream(bytes(segment, type == IndexType.OFFSET ? "index" : type == IndexType.TIMESTAMP ? "timeindex" : "txnindex"));
        }

        @Override
        public void deleteLogSegmentData(RemoteLogSegmentMetadata segment) {
            deleted.add(segment.remoteLogSegmentId().id().toString());
        }

        @Override
        public Optional<RemoteLogSegmentMetadata.CustomMetadata> copyLogSegmentData(RemoteLogSegmentMetadata segment, LogSegmentData data) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void configure(Map<String, ?> configs) { }

        @Override
        public void close() { }
    }

    private static final class Metadata implements RemoteLogMetadataManager {
        static Metadata next;
        private final RemoteLogMetadataCacheAccess cache;

        Metadata(RemoteLogMetadataCacheAccess cache) {
            this.cache = cache;
        }

        @Override
        public CompletableFuture<Void> addRemoteLogSegmentMetadata(RemoteLogSegmentMetadata segment) {
            cache.add(segment);
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public CompletableFuture<Void> updateRemoteLogSegmentMetadata(RemoteLogSegmentMetadataUpdate update) throws RemoteStorageException {
            try {
                cache.update(update);
            } catch (RemoteResourceNotFoundException logged) {
                // RemotePartitionMetadataStore logs it: a segment of two epochs whose deletion is tried again is deleted twice
            }
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public Optional<RemoteLogSegmentMetadata> remoteLogSegmentMetadata(TopicIdPartition of, int epoch, long offset) {
            return cache.segment(epoch, offset);
        }

        @Override
        public Optional<Long> highestOffsetForEpoch(TopicIdPartition of, int epoch) {
            return cache.highestOffsetForEpoch(epoch);
        }

        @Override
        public Iterator<RemoteLogSegmentMetadata> listRemoteLogSegments(TopicIdPartition of) {
            return cache.listAll();
        }

        @Override
        public Iterator<RemoteLogSegmentMetadata> listRemoteLogSegments(TopicIdPartition of, int epoch) throws RemoteStorageException {
            return cache.list(epoch);
        }

        @Override
        public Optional<RemoteLogSegmentMetadata> nextSegmentWithTxnIndex(TopicIdPartition of, int epoch, long offset) {
            return cache.nextWithTxnIndex(epoch, offset);
        }

        @Override
        public CompletableFuture<Void> putRemotePartitionDeleteMetadata(RemotePartitionDeleteMetadata deletion) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void onPartitionLeadershipChanges(Set<TopicIdPartition> leaders, Set<TopicIdPartition> followers) { }

        @Override
        public void onStopPartitions(Set<TopicIdPartition> partitions) { }

        @Override
        public long remoteLogSize(TopicIdPartition of, int epoch) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void configure(Map<String, ?> configs) { }

        @Override
        public void close() { }
    }
}
