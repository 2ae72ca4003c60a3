import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Java's producer, one step at a time: its configuration is the first line in, every further line a step, and
 * every line out what came of one. The same words as chaos/stepwise/librdkafka.py.
 */
public class Stepwise {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration CLOSE_PATIENCE = Duration.ofSeconds(5);
    private static final int ORPHAN_PATIENCE = 15; // seconds
    private final KafkaProducer<byte[], byte[]> producer;
    private ArrayNode posted = JSON.createArrayNode(); // records whose answers nobody asked for yet

    private Stepwise(JsonNode told) {
        Map<String, Object> config = new HashMap<>();
        told.fields().forEachRemaining(each -> config.put(each.getKey(), each.getValue().asText()));
        producer = new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer());
    }

    public static void main(String[] none) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        System.setOut(System.err); // what a library prints is no answer
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        JsonNode config = JSON.readTree(in.readLine());
        BlockingQueue<Optional<String>> steps = new LinkedBlockingQueue<>();
        Thread listening = new Thread(() -> listen(in, steps));
        listening.setDaemon(true);
        listening.start();
        Stepwise client = new Stepwise(config);
        for (Optional<String> step = steps.take(); step.isPresent(); step = steps.take()) {
            out.println(client.answer(JSON.readTree(step.get())));
        }
        client.producer.close(CLOSE_PATIENCE); // a transaction that is open would wait for its brokers, for ever
    }

    /** When stdin ends, whoever drives us is gone, and perhaps the brokers with it: a step may never come to its end. */
    private static void listen(BufferedReader in, BlockingQueue<Optional<String>> steps) {
        try {
            in.lines().forEach(line -> steps.add(Optional.of(line)));
        } finally {
            steps.add(Optional.empty());
            Executor later = CompletableFuture.delayedExecutor(ORPHAN_PATIENCE, TimeUnit.SECONDS);
            later.execute(() -> Runtime.getRuntime().halt(1));
        }
    }

    private String answer(JsonNode step) throws Exception {
        ObjectNode answer = JSON.createObjectNode();
        try {
            switch (step.get("do").asText()) {
                case "init" -> producer.initTransactions();
                case "begin" -> producer.beginTransaction();
                case "post" -> post(step);
                case "flush" -> answer.set("records", flushed());
                case "commit" -> producer.commitTransaction();
                case "abort" -> producer.abortTransaction();
                default -> throw new IllegalArgumentException(step.toString());
            }
            answer.putNull("error");
        } catch (Exception trouble) {
            answer.put("error", trouble.getClass().getSimpleName());
        }
        return JSON.writeValueAsString(answer);
    }

    private void post(JsonNode step) {
        for (JsonNode each : step.get("values")) {
            ObjectNode row = posted.addObject().put("value", each.asLong()).put("invoked_ns", System.nanoTime());
            byte[] payload = payload(each.asLong(), step.get("size").asInt());
            producer.send(new ProducerRecord<>(step.get("topic").asText(), step.get("partition").asInt(), null, payload), (where, error) -> {
                row.put("completed_ns", System.nanoTime());
                row.put("error", error == null ? null : error.getClass().getSimpleName());
                row.put("offset", error == null && where.hasOffset() ? (Long) where.offset() : null);
            });
        }
    }

    private ArrayNode flushed() {
        producer.flush();
        ArrayNode answered = posted;
        posted = JSON.createArrayNode();
        return answered;
    }

    private static byte[] payload(long value, int size) {
        byte[] payload = new byte[size];
        Arrays.fill(payload, (byte) '.');
        byte[] digits = String.format("%016d", value).getBytes(StandardCharsets.US_ASCII);
        System.arraycopy(digits, 0, payload, 0, digits.length);
        return payload;
    }
}
