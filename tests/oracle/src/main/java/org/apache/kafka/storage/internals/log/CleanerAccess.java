package org.apache.kafka.storage.internals.log;

import java.io.IOException;
import java.util.Optional;

/** What LogCleanerManager keeps to its package. */
public final class CleanerAccess {

    private CleanerAccess() { }

    /** The first dirty offset, and the first that cannot be cleaned. */
    public static long[] cleanableOffsets(UnifiedLog log, Optional<Long> lastCleanOffset, long now) throws IOException {
        LogCleanerManager.OffsetsToClean offsets = LogCleanerManager.cleanableOffsets(log, lastCleanOffset, now);
        return new long[] {offsets.firstDirtyOffset(), offsets.firstUncleanableDirtyOffset()};
    }
}
