"""Rules about remote log metadata: `RLMM`."""

from kcli.kafka.findings.catalogue.rule import Rule

REMOTE: dict[str, Rule] = {
    "RLMM-001": Rule(
        "error",
        "A value of remote log metadata cannot be decoded, or a broker would reject it.",
        "Its metadata consumer stops for good at such a record: it does not hold what follows, of any "
        "metadata partition.",
        "See the row's error and raw bytes. Check that all brokers of the cluster run the same release line.",
    ),
    "RLMM-002": Rule(
        "error",
        "A record of remote log metadata has no value.",
        "Its metadata consumer stops for good at it, as of RLMM-001.",
        "Find out who writes to this topic: no release up to 4.3 writes tombstones.",
    ),
    "RLMM-004": Rule(
        "warning",
        "Remote log metadata in the layout of releases 3.0 to 3.5.",
        "Brokers from 3.6 on cannot read it: their metadata consumer stops for good.",
        "Nothing while the cluster runs 3.5 or older; before an upgrade, remote storage has to be set up "
        "anew.",
    ),
    "RLMM-005": Rule(
        "error",
        "A remote_log_snapshot ends within its header.",
        "It takes the missing bytes for zeros: an empty snapshot, without an error.",
        "Remove the file while the broker is stopped: it is built anew from the topic.",
    ),
    "RLMM-006": Rule(
        "info",
        "A remote_log_snapshot is empty.",
        "It ignores the file: nothing was flushed yet.",
        "Nothing.",
    ),
    "RLMM-008": Rule(
        "info",
        "Control batches were skipped.",
        "It does the same; it writes none to this topic.",
        "Find out which producer writes transactions to this topic.",
    ),
    "RLMM-009": Rule(
        "warning",
        "A copy of a segment to remote storage, or a deletion, was begun and not finished.",
        "It copies the offsets anew under another id, and deletes what is left of this copy when that is "
        "beyond retention. A deletion it tries again each time it looks for such segments.",
        "Nothing after a restart or a change of the leader. Otherwise look for errors of the remote storage "
        "in the broker's log; objects may stay in the storage.",
    ),
    "RLMM-011": Rule(
        "error",
        "An event asks for a state that cannot follow the segment's state.",
        "It logs an error and drops the event (up to 3.6: IllegalStateException).",
        "See kcli rlmm state --history SEGMENT_ID. Two brokers may have led the partition at the same time.",
    ),
    "RLMM-012": Rule(
        "warning",
        "An event is about a remote segment that no event before it has begun.",
        "It drops the event.",
        "Its first event is gone: check that the topic has cleanup.policy=delete and unlimited retention.",
    ),
    "RLMM-013": Rule(
        "error",
        "A remote segment begins in another state than COPY_SEGMENT_STARTED, or is set back to it.",
        "Its metadata cache throws IllegalArgumentException: the metadata consumer of a broker that has the "
        "partition stops for good, as of RLMM-001.",
        "Find out who wrote the event: no broker does.",
    ),
    "RLMM-014": Rule(
        "warning",
        "Offsets between two remote segments are in none.",
        "It answers OFFSET_OUT_OF_RANGE for them once they are gone from the local log.",
        "See kcli rlmm state for what became of the segment that held them; save the local log of a replica.",
    ),
    "RLMM-015": Rule(
        "error",
        "The leader epochs of a remote segment contradict its offsets.",
        "It searches the segment for offsets that are not in it, or does not find those that are.",
        "Find out who wrote the event: no broker does.",
    ),
    "RLMM-017": Rule(
        "info",
        "Another remote segment serves offsets of a copied one: all of them, those of a leader epoch that "
        "both have, or those that a later epoch wrote again.",
        "It reads the offsets from the segment that begins later, or of the later epoch, and deletes the "
        "other one with those beyond retention.",
        "Nothing: brokers that led the partition in turn, or an unclean election, leave such segments. Until "
        "then they take space in the remote storage.",
    ),
    "RLMM-020": Rule(
        "warning",
        "Remote storage has what no broker deletes: objects of a segment that no event names, or that is "
        "deleted by its events, or segments of a partition whose deletion was begun or finished.",
        "It knows nothing of them, or does not take the deletion up again.",
        "Delete the objects, once you are sure that they are of this cluster, that the topic is gone and "
        "that no broker copies now.",
    ),
    "RLMM-021": Rule(
        "error",
        "A segment is copied by its events, and an object of it is not in remote storage, has another size "
        "than by its event or manifest, or is a manifest that cannot be read.",
        "It fails each fetch that needs the object (RemoteResourceNotFoundException, "
        "RemoteStorageException). Of a log of another size it reads up to the end: records are missing, or a "
        "batch is cut.",
        "Restore the objects from a version or a backup of the storage, see kcli dump of them; save the "
        "local log of a replica if that has the offsets.",
    ),
    "RLMM-025": Rule(
        "info",
        "Not all events about a partition are here: objects of segments that no event names are not judged, "
        "nor copied segments without objects, nor what retention deletes of the local log once it is copied.",
        "Nothing.",
        "Name a replica of every partition of __remote_log_metadata that has all its events, without --at.",
    ),
    "RLMM-026": Rule(
        "warning",
        "A remote_log_snapshot does not hold what the events up to its offset come to, or "
        "_rlmm_committed_offsets is ahead of it.",
        "It takes the file for true, and answers from it until it reads the events anew; up to 3.5 it goes "
        "on after the committed offset.",
        "Remove both files while the broker is stopped: it reads all events then. Compare kcli rlmm state "
        "--from snapshots with --from events.",
    ),
    "RLMM-028": Rule(
        "warning",
        "A copied segment is outside the lineage of the leader's epochs, or a leader epoch begins at "
        "different offsets in remote segments.",
        "It neither reads nor deletes such a segment, unless all its epochs are below the leader's first.",
        "Nothing where an unclean election cut the log; else compare with kcli epoch show on the leader.",
    ),
    "RLMM-029": Rule(
        "error",
        "Remote storage goes past the leader's last stable offset.",
        "It copies only below that offset: records of the open transaction are in the segment.",
        "See whether the leader lost the end of its log; compare with its replicas.",
    ),
    "RLMM-030": Rule(
        "error",
        "Offsets of the leader's log are in no tier.",
        "It answers OFFSET_OUT_OF_RANGE for them.",
        "Look for a replica that still has them, see kcli rlmm coverage.",
    ),
    "RLMM-032": Rule(
        "error",
        "Events of a partition of __remote_log_metadata are gone.",
        "It knows these events as long as it runs. After a start it neither reads nor deletes the remote "
        "segments that they began.",
        "Name a replica that has them. Check that the topic has cleanup.policy=delete and unlimited "
        "retention. While brokers still run, read what these segments hold before you stop them.",
    ),
    "RLMM-034": Rule(
        "info",
        "A topic of the events is not in the live cluster, and all its remote segments are deleted.",
        "Nothing: the topic was deleted, and its remote segments with it.",
        "Nothing.",
    ),
    "RLMM-035": Rule(
        "error",
        "A batch of __remote_log_metadata is damaged, and recovery does not cut it.",
        "As the leader of this metadata partition it sends the batch, at which metadata consumers stop for "
        "good, as of RLMM-001.",
        "Look for a replica that has the batch whole, see kcli replica diff: let that one lead, then restart "
        "the brokers.",
    ),
    "RLMM-036": Rule(
        "error",
        "Offsets of __remote_log_metadata do not rise from one event to the next.",
        "Its metadata consumer goes on from the offset after the larger one, and skips these events.",
        "No broker appends like this, and no checksum covers a batch's base offset: see kcli check. Let a "
        "replica lead that has the batch whole, see kcli replica diff, then restart the brokers.",
    ),
    "RLMM-037": Rule(
        "error",
        "Events about a partition are in a metadata partition in which no broker looks for them.",
        "It looks in the one that RemoteLogMetadataTopicPartitioner names for the number of partitions that "
        "__remote_log_metadata has now: it neither reads nor deletes the remote segments of these events.",
        "Somebody added partitions to the topic, which must never change: keep the local logs, and the "
        "objects. kcli rlmm state still shows which segments there are.",
    ),
}
