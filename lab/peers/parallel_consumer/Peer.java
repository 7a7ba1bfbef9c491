import com.sun.management.OperatingSystemMXBean;
import io.confluent.parallelconsumer.ParallelConsumerOptions;
import io.confluent.parallelconsumer.ParallelConsumerOptions.ProcessingOrder;
import io.confluent.parallelconsumer.ParallelStreamProcessor;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Peer: Confluent's Parallel Consumer, with the order of keys. The row in lab/experiments/kafka starts it with: servers,
 * topic, group, records, keys, work in us, records in flight, repetitions. Prints for each repetition the seconds from the first
 * record to the last, the seconds of processor time, and how many records were out of order. The first repetition warms
 * the virtual machine up.
 */
public final class Peer {
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final AtomicLong handled = new AtomicLong();
    private final AtomicLong disordered = new AtomicLong();
    private final AtomicIntegerArray next;
    private final CountDownLatch done = new CountDownLatch(1);
    private volatile long began, cpuAtBegin, ended, cpuAtEnd;

    private Peer(int keys) {
        next = new AtomicIntegerArray(keys);
    }

    public static void main(String[] words) throws Exception {
        int repetitions = Integer.parseInt(words[7]);
        for (int i = 0; i <= repetitions; ++i) {
            Peer peer = new Peer(Integer.parseInt(words[4]));
            peer.run(words[0], words[1], words[2] + "-" + i, Long.parseLong(words[3]), Long.parseLong(words[5]),
                    Integer.parseInt(words[6]));
            System.out.printf("%.9f %.9f %d%n", (peer.ended - peer.began) / 1e9, (peer.cpuAtEnd - peer.cpuAtBegin) / 1e9,
                    peer.disordered.get());
        }
        System.exit(0);
    }

    private void run(String servers, String topic, String group, long records, long workUs, int inFlight) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("group.id", group);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        ParallelConsumerOptions<String, String> options = ParallelConsumerOptions.<String, String>builder()
                .ordering(ProcessingOrder.KEY)
                .maxConcurrency(inFlight)
                .consumer(new KafkaConsumer<>(settings))
                .build();
        ParallelStreamProcessor<String, String> processor = ParallelStreamProcessor.createEosStreamProcessor(options);
        processor.subscribe(List.of(topic));
        processor.poll(record -> handle(record.key(), record.value(), records, workUs));
        if (!done.await(60, TimeUnit.SECONDS)) throw new IllegalStateException("records are missing");
        processor.close(Duration.ofSeconds(20), io.confluent.parallelconsumer.internal.DrainingCloseable.DrainingMode.DONT_DRAIN);
    }

    private void handle(String key, String value, long records, long workUs) {
        if (began == 0) begin();
        if (workUs > 0) {
            try {
                Thread.sleep(workUs / 1000);
            } catch (InterruptedException stopped) {
                return; // the processor closes
            }
        }
        int n = Integer.parseInt(value.trim());
        if (next.getAndSet(Integer.parseInt(key), n + 1) != n) disordered.incrementAndGet();
        if (handled.incrementAndGet() == records) {
            ended = System.nanoTime();
            cpuAtEnd = SYSTEM.getProcessCpuTime();
            done.countDown();
        }
    }

    private synchronized void begin() {
        if (began != 0) return;
        cpuAtBegin = SYSTEM.getProcessCpuTime();
        began = System.nanoTime();
    }
}
