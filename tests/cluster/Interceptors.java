// Three interceptors in Java's own clients, the middle one broken; prints every call of a hook, in order.
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;

public class Interceptors {
    public abstract static class Base implements ProducerInterceptor<String, Object>, ConsumerInterceptor<String, Object> {
        void call(String hook, Object what) {
            System.out.println("> " + getClass().getSimpleName() + " " + hook + " " + what);
            if (this instanceof B) throw new IllegalStateException("broken");
        }
        public ProducerRecord<String, Object> onSend(ProducerRecord<String, Object> sent) {
            call("on_send", sent.value());
            return new ProducerRecord<>(sent.topic(), 0, sent.key(),
                sent.value() instanceof String text ? text + getClass().getSimpleName() : sent.value());
        }
        public void onAcknowledgement(RecordMetadata where, Exception error) {
            call("on_acknowledgement", error == null ? "ok" : "failed");
        }
        public ConsumerRecords<String, Object> onConsume(ConsumerRecords<String, Object> records) {
            for (var read : records) call("on_consume", read.value());
            return records;
        }
        public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
            for (var where : offsets.values()) call("on_commit", where.offset());
        }
        public void close() { call("close", ""); }
        public void configure(Map<String, ?> config) { }
    }
    public static class A extends Base { }
    public static class B extends Base { }
    public static class C extends Base { }

    public static void main(String[] args) throws Exception {
        String text = "org.apache.kafka.common.serialization.String";
        Map<String, Object> both = new HashMap<>(Map.of("bootstrap.servers", args[0], "interceptor.classes", List.of(A.class, B.class, C.class)));
        both.putAll(Map.of("key.serializer", text + "Serializer", "value.serializer", text + "Serializer"));
        try (var producer = new KafkaProducer<String, Object>(both)) {
            producer.send(new ProducerRecord<>(args[1], "v")).get();
            try { producer.send(new ProducerRecord<>(args[1], 5)); } catch (Exception refused) { }
        }
        both.keySet().removeIf(key -> key.endsWith("serializer"));
        both.putAll(Map.of("key.deserializer", text + "Deserializer", "value.deserializer", text + "Deserializer"));
        both.putAll(Map.of("group.id", args[1], "auto.offset.reset", "earliest", "enable.auto.commit", "false"));
        try (var consumer = new KafkaConsumer<String, Object>(both)) {
            consumer.assign(List.of(new TopicPartition(args[1], 0)));
            while (consumer.poll(Duration.ofMillis(100)).isEmpty()) { }
            consumer.commitSync();
        }
    }
}
