import java.io.OutputStream;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.ElectionType;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.ElectionNotNeededException;

/** What tools/kafka.sh asks of the brokers: Admin BROKERS topic NAME PARTITIONS REPLICAS, or Admin BROKERS move NAME. */
public final class Admin {
    public static void main(String[] words) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", words[0]);
        settings.put("default.api.timeout.ms", "60000");
        PrintStream errors = System.err;
        System.setErr(new PrintStream(OutputStream.nullOutputStream())); // SLF4J tells there that it has no logger
        try (AdminClient admin = AdminClient.create(settings)) {
            if (words[1].equals("topic")) {
                createTopic(admin, words[2], Integer.parseInt(words[3]), Short.parseShort(words[4]));
            } else {
                move(admin, words[2]);
            }
        } catch (Exception error) {
            errors.println(error);
            System.exit(1);
        }
    }

    private static void createTopic(AdminClient admin, String name, int partitions, short replicas) throws Exception {
        admin.createTopics(List.of(new NewTopic(name, partitions, replicas))).all().get(60, TimeUnit.SECONDS);
    }

    /** Takes each partition away from its leader, then gives the old leader a new copy of the data, as the last replica. */
    private static void move(AdminClient admin, String name) throws Exception {
        Map<TopicPartition, Optional<NewPartitionReassignment>> without = new HashMap<>();
        Map<TopicPartition, Optional<NewPartitionReassignment>> rotated = new HashMap<>();
        for (TopicPartitionInfo partition : describe(admin, name).partitions()) {
            List<Integer> ids = new ArrayList<>();
            for (Node node : partition.replicas()) ids.add(node.id());
            int leader = partition.leader().id();
            Collections.rotate(ids, -1 - ids.indexOf(leader)); // the leader is now the last
            TopicPartition which = new TopicPartition(name, partition.partition());
            rotated.put(which, Optional.of(new NewPartitionReassignment(List.copyOf(ids))));
            if (ids.size() < 2) throw new IllegalArgumentException("a topic with one replica cannot move");
            without.put(which, Optional.of(new NewPartitionReassignment(List.copyOf(ids.subList(0, ids.size() - 1)))));
        }
        for (Map<TopicPartition, Optional<NewPartitionReassignment>> next : List.of(without, rotated)) {
            admin.alterPartitionReassignments(next).all().get(60, TimeUnit.SECONDS);
            while (!admin.listPartitionReassignments(next.keySet()).reassignments().get(60, TimeUnit.SECONDS).isEmpty())
                Thread.sleep(50);
        }
        for (Optional<Throwable> error :
                admin.electLeaders(ElectionType.PREFERRED, rotated.keySet()).partitions().get(60, TimeUnit.SECONDS).values()) {
            if (error.isPresent() && !(error.get() instanceof ElectionNotNeededException))
                throw new IllegalStateException(error.get());
        }
    }

    private static TopicDescription describe(AdminClient admin, String name) throws Exception {
        return admin.describeTopics(List.of(name)).allTopicNames().get(60, TimeUnit.SECONDS).get(name);
    }
}
