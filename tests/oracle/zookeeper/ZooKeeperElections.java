import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;

import kafka.api.LeaderAndIsr;
import kafka.cluster.Broker;
import kafka.controller.ControllerContext;
import kafka.controller.Election;
import kafka.controller.ReplicaAssignment;
import kafka.controller.ZkReplicaStateMachine;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.metadata.LeaderRecoveryState;
import scala.Option;
import scala.Tuple2;
import scala.Tuple3;
import scala.jdk.javaapi.CollectionConverters;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What the controller of a ZooKeeper cluster makes of partitions of which a broker fails: cases as a JSON array
 * on stdin, states on stdout. The election is Election.leaderForOffline; the transition to OfflineReplica is the
 * function within ZkReplicaStateMachine.doRemoveReplicasFromIsr, which Scala compiles to a static method.
 */
public final class ZooKeeperElections {

    private static final TopicPartition NAME = new TopicPartition("topic", 0);

    public static void main(String[] arguments) throws Exception {
        ObjectMapper mapper = new ObjectMapper();
        Method hasReplica = ZkReplicaStateMachine.class.getMethod("$anonfun$doRemoveReplicasFromIsr$2", int.class, LeaderAndIsr.class);
        Method remove = ZkReplicaStateMachine.class.getMethod(
            "$anonfun$doRemoveReplicasFromIsr$5", int.class, TopicPartition.class, LeaderAndIsr.class);
        List<Object> answers = new ArrayList<>();
        for (JsonNode node : mapper.readTree(System.in)) {
            int broker = node.get("broker").asInt();
            ControllerContext context = new ControllerContext();
            context.updatePartitionFullReplicaAssignment(NAME, ReplicaAssignment.apply(seq(ids(node, "replicas"))));
            Map<Broker, Object> live = new HashMap<>();
            for (Object id : ids(node, "live")) live.put(Broker.apply((int) id, seq(List.of()), Option.empty()), 0L);
            context.setLiveBrokers(CollectionConverters.asScala(live));
            LeaderAndIsr state = LeaderAndIsr.apply(node.get("leader").asInt(), node.get("leader_epoch").asInt(), seq(ids(node, "isr")).toList(),
                LeaderRecoveryState.of((byte) (node.get("recovering").asBoolean() ? 1 : 0)), 0);
            int writes = 0;
            if (state.leader() == broker || !node.get("live").toString().matches(".*\\b" + state.leader() + "\\b.*")) {
                var asked = seq(List.of(new Tuple3<TopicPartition, Option<LeaderAndIsr>, Object>(
                    NAME, Option.apply(state), node.get("unclean").asBoolean())));
                Option<LeaderAndIsr> elected = Election.leaderForOffline(context, true, asked).head().leaderAndIsr();
                if (elected.isDefined()) {
                    state = elected.get();
                    writes++;
                }
            }
            if ((boolean) hasReplica.invoke(null, broker, state)) {
                state = (LeaderAndIsr) ((Tuple2<?, ?>) remove.invoke(null, broker, NAME, state))._2();
                writes++;
            }
            answers.add(Map.of("leader", state.leader(), "leader_epoch", state.leaderEpoch(), "isr", CollectionConverters.asJava(state.isr()),
                "recovering", state.leaderRecoveryState() == LeaderRecoveryState.RECOVERING, "writes", writes));
        }
        mapper.writeValue(System.out, answers);
    }

    private static List<Object> ids(JsonNode node, String name) {
        List<Object> ids = new ArrayList<>();
        for (JsonNode id : node.get(name)) ids.add(id.asInt());
        return ids;
    }

    private static <T> scala.collection.Seq<T> seq(List<T> items) {
        return CollectionConverters.asScala(items).toSeq();
    }
}
