package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.DirectoryId;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.metadata.Replicas;
import org.apache.kafka.raft.ReplicaKey;
import org.apache.kafka.raft.UnattachedState;
import org.apache.kafka.raft.internals.EpochElection;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.OffsetAndEpoch;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;

/** What the controller makes of partitions: PartitionChangeBuilder, then PartitionRegistration.merge. */
final class Elections {

    private Elections() { }

    static Object answer(JsonNode request) {
        List<Object> answers = new ArrayList<>();
        for (JsonNode node : request.get("cases")) answers.add(Json.orError(() -> change(node)));
        return Json.object("cases", answers);
    }

    private static Object change(JsonNode node) {
        int[] replicas = Replicas.toArray(ids(node, "replicas"));
        Uuid[] directories = new Uuid[replicas.length];
        java.util.Arrays.fill(directories, DirectoryId.MIGRATING);
        PartitionRegistration partition = new PartitionRegistration.Builder()
            .setReplicas(replicas)
            .setDirectories(directories)
            .setIsr(Replicas.toArray(ids(node, "isr")))
            .setElr(Replicas.toArray(ids(node, "elr")))
            .setLastKnownElr(Replicas.toArray(ids(node, "last_known_elr")))
            .setRemovingReplicas(Replicas.toArray(ids(node, "removing")))
            .setAddingReplicas(Replicas.toArray(ids(node, "adding")))
            .setLeader(node.get("leader").asInt())
            .setLeaderRecoveryState(node.get("recovering").asBoolean() ? LeaderRecoveryState.RECOVERING : LeaderRecoveryState.RECOVERED)
            .setLeaderEpoch(node.get("leader_epoch").asInt())
            .setPartitionEpoch(node.get("partition_epoch").asInt())
            .build();
        Set<Integer> live = new HashSet<>(ids(node, "live"));
        PartitionChangeBuilder builder = new PartitionChangeBuilder(partition, Uuid.ONE_UUID, 0, live::contains,
            MetadataVersion.fromFeatureLevel((short) node.get("metadata_version").asInt()),
            node.get("min_isr").asInt(), node.get("elr_enabled").asBoolean());
        if (node.get("unclean").asBoolean()) builder.setElection(PartitionChangeBuilder.Election.UNCLEAN);
        List<Integer> unclean = ids(node, "unclean_shutdown");
        if (!unclean.isEmpty()) builder.setUncleanShutdownReplicas(unclean);
        builder.setTargetIsr(ids(node, "target_isr")).setDefaultDirProvider(broker -> DirectoryId.UNASSIGNED);
        Optional<ApiMessageAndVersion> change = builder.build();
        if (change.isEmpty()) return null;
        PartitionRegistration after = partition.merge((PartitionChangeRecord) change.get().message());
        return Json.object("replicas", Replicas.toList(after.replicas), "isr", Replicas.toList(after.isr), "leader", after.leader,
            "leader_epoch", after.leaderEpoch, "partition_epoch", after.partitionEpoch, "elr", Replicas.toList(after.elr),
            "last_known_elr", Replicas.toList(after.lastKnownElr), "removing", Replicas.toList(after.removingReplicas),
            "adding", Replicas.toList(after.addingReplicas),
            "recovering", after.leaderRecoveryState == LeaderRecoveryState.RECOVERING);
    }

    static Object ballots(JsonNode request) {
        List<Object> answers = new ArrayList<>();
        for (JsonNode node : request.get("cases")) answers.add(Json.orError(() -> ballot(node)));
        return Json.object("cases", answers);
    }

    /** A candidate asks every voter but the one that is gone; those whose logs are not named do not answer. */
    private static Object ballot(JsonNode node) {
        Set<ReplicaKey> voters = new HashSet<>();
        for (int id : ids(node, "voters")) voters.add(ReplicaKey.of(id, ReplicaKey.NO_DIRECTORY_ID));
        EpochElection election = new EpochElection(voters);
        ReplicaKey candidate = ReplicaKey.of(node.get("candidate").asInt(), ReplicaKey.NO_DIRECTORY_ID);
        OffsetAndEpoch end = end(node, candidate.id());
        int granted = 0;
        for (ReplicaKey voter : voters) {
            if (voter.id() == node.get("gone").asInt()) {
                election.recordVote(voter.id(), false);
            } else if (node.get("ends").has(String.valueOf(voter.id()))) {
                UnattachedState state = new UnattachedState(Time.SYSTEM, 1, OptionalInt.empty(), Optional.empty(), Set.of(), Optional.empty(), 1000, new LogContext());
                boolean isUpToDate = end.compareTo(end(node, voter.id())) >= 0;
                boolean isGranted = state.canGrantVote(candidate, isUpToDate, false);
                election.recordVote(voter.id(), isGranted);
                if (isGranted) granted++;
            }
        }
        return Json.object("votes", granted, "granted", election.isVoteGranted(), "rejected", election.isVoteRejected());
    }

    private static OffsetAndEpoch end(JsonNode node, int voter) {
        JsonNode end = node.get("ends").get(String.valueOf(voter));
        return new OffsetAndEpoch(end.get(1).asLong(), end.get(0).asInt());
    }

    private static List<Integer> ids(JsonNode node, String name) {
        List<Integer> ids = new ArrayList<>();
        for (JsonNode id : node.get(name)) ids.add(id.asInt());
        return ids;
    }
}
