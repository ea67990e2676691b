package org.apache.kafka.server.log.remote.metadata.storage;

import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadataUpdate;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;

import java.util.Iterator;
import java.util.Optional;

/** Opens the package-private methods of RemoteLogMetadataCache. */
public final class RemoteLogMetadataCacheAccess {

    private final RemoteLogMetadataCache cache = new RemoteLogMetadataCache();

    public RemoteLogMetadataCacheAccess(boolean initialized) {
        if (initialized) cache.markInitialized();
    }

    public void add(RemoteLogSegmentMetadata segment) {
        cache.addCopyInProgressSegment(segment);
    }

    public void update(RemoteLogSegmentMetadataUpdate update) throws RemoteResourceNotFoundException {
        cache.updateRemoteLogSegmentMetadata(update);
    }

    public Iterator<RemoteLogSegmentMetadata> listAll() {
        return cache.listAllRemoteLogSegments();
    }

    public Iterator<RemoteLogSegmentMetadata> list(int epoch) throws RemoteResourceNotFoundException {
        return cache.listRemoteLogSegments(epoch);
    }

    public Optional<RemoteLogSegmentMetadata> segment(int epoch, long offset) {
        return cache.remoteLogSegmentMetadata(epoch, offset);
    }

    public Optional<RemoteLogSegmentMetadata> nextWithTxnIndex(int epoch, long offset) {
        return cache.nextSegmentWithTxnIndex(epoch, offset);
    }

    public Optional<Long> highestOffsetForEpoch(int epoch) {
        return cache.highestOffsetForEpoch(epoch);
    }
}
