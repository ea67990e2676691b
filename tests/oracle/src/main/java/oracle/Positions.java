package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import kafka.cluster.Partition;
import org.apache.kafka.clients.consumer.internals.PositionsAccess;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData.EpochEndOffset;
import org.apache.kafka.common.protocol.Errors;
import scala.Option;

import java.io.File;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What a broker's Partition answers to OffsetForLeaderEpoch, and what a consumer makes of its position then. */
final class Positions {

    private static final int BROKER = 1;
    private static final int OTHER = 2;
    private static final TopicPartition NAME = new TopicPartition("topic", 0);

    private Positions() { }

    static Object answer(JsonNode request) throws Exception {
        OpenLog open = OpenLog.load(request, new File(request.get("directory").asText()), true,
            Json.longOf(request, "log_start_offset", 0), Json.longOf(request, "recovery_point", 0));
        try {
            open.scheduler.settle();
            Partition partition = new Partition(NAME, 0, BROKER, () -> 0L, open.time, null, null, null, null, null, Option.empty());
            partition.log_$eq(Option.apply(open.log));
            Method leaderEpoch = Partition.class.getDeclaredMethod("leaderEpoch_$eq", int.class);
            leaderEpoch.setAccessible(true);
            List<Object> answers = new ArrayList<>();
            for (JsonNode node : request.get("cases")) answers.add(Json.orError(() -> {
                leaderEpoch.invoke(partition, node.get("leader_epoch").asInt());
                partition.leaderReplicaIdOpt_$eq(Option.apply(node.get("leads").asBoolean() ? BROKER : OTHER));
                int current = node.get("current").asInt();
                EpochEndOffset end = partition.lastOffsetForLeaderEpoch(
                    current < 0 ? Optional.empty() : Optional.of(current), node.get("epoch").asInt(), true);
                Errors error = Errors.forCode(end.errorCode());
                return Json.object("error", error == Errors.NONE ? null : error.name(), "leader_epoch", end.leaderEpoch(), "end_offset", end.endOffset(),
                    "position", PositionsAccess.validate(NAME, node.get("offset").asLong(), node.get("epoch").asInt(), node.get("reset").asText(), end));
            }));
            return Json.object("epochs", EpochCache.entries(open.log.leaderEpochCache()), "log_end_offset", open.log.logEndOffset(), "cases", answers);
        } finally {
            open.kill();
        }
    }
}
