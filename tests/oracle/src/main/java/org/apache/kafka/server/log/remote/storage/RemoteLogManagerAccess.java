package org.apache.kafka.server.log.remote.storage;

import java.util.NavigableMap;

/** What RemoteLogManager keeps to its package: whether a segment is within a leader's epochs. */
public final class RemoteLogManagerAccess {

    private RemoteLogManagerAccess() { }

    public static boolean isWithin(RemoteLogSegmentMetadata segment, long logEndOffset, NavigableMap<Integer, Long> leader) {
        return RemoteLogManager.isRemoteSegmentWithinLeaderEpochs(
            segment, logEndOffset, RemoteLogManager.buildFilteredLeaderEpochMap(leader));
    }
}
