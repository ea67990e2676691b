package oracle;

import com.fasterxml.jackson.databind.JsonNode;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.MetadataRecordType;
import org.apache.kafka.common.message.ConsumerProtocolAssignment;
import org.apache.kafka.common.message.ConsumerProtocolSubscription;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.serialization.AbstractApiMessageSerde;

import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Supplier;

/** The messages of the internal topics: which there are, and random ones as Kafka's generated classes write them. */
final class Messages {

    private static final int ELEMENTS_MAX = 4;
    private static final String[] TEXTS = {"", "a", "group-1", "quo\"te\\back", "tab\tline\nbell\u0007esc\u001b", "sl/ash", "\u00e9\u4e2d\ud83d\ude00\u2028\u007f"};

    private enum Framing { KEY, VALUE, METADATA, REMOTE, PROTOCOL }

    /** The frame of __remote_log_metadata's values is that of the metadata log; only which api key is which type differs. */
    private static final AbstractApiMessageSerde REMOTE_SERDE = new AbstractApiMessageSerde() {
        @Override
        public ApiMessage apiMessageFor(short apiKey) {
            return org.apache.kafka.server.log.remote.metadata.storage.generated.MetadataRecordType.fromId(apiKey).newMetadataRecord();
        }
    };

    private record Kind(String topic, Framing framing, Supplier<? extends ApiMessage> message) { }

    private static final Map<String, Kind> KINDS = new TreeMap<>();

    static {
        for (var type : org.apache.kafka.coordinator.group.generated.CoordinatorRecordType.values())
            add("__consumer_offsets", type::newRecordKey, type::newRecordValue);
        for (var type : org.apache.kafka.coordinator.transaction.generated.CoordinatorRecordType.values())
            add("__transaction_state", type::newRecordKey, type::newRecordValue);
        for (var type : org.apache.kafka.coordinator.share.generated.CoordinatorRecordType.values())
            add("__share_group_state", type::newRecordKey, type::newRecordValue);
        for (MetadataRecordType type : MetadataRecordType.values())
            add(new Kind("__cluster_metadata", Framing.METADATA, type::newMetadataRecord));
        for (var type : org.apache.kafka.server.log.remote.metadata.storage.generated.MetadataRecordType.values())
            add(new Kind("__remote_log_metadata", Framing.REMOTE, type::newMetadataRecord));
        add(new Kind("", Framing.PROTOCOL, ConsumerProtocolSubscription::new));
        add(new Kind("", Framing.PROTOCOL, ConsumerProtocolAssignment::new));
    }

    private Messages() { }

    private static void add(String topic, Supplier<ApiMessage> key, Supplier<ApiMessage> value) {
        add(new Kind(topic, Framing.KEY, key));
        add(new Kind(topic, Framing.VALUE, value));
    }

    private static void add(Kind kind) {
        KINDS.put(kind.message.get().getClass().getSimpleName(), kind);
    }

    static Object types(JsonNode request) {
        List<Object> types = new ArrayList<>();
        KINDS.forEach((name, kind) -> {
            ApiMessage message = kind.message.get();
            types.add(Json.object("name", name, "topic", kind.topic, "framing", kind.framing.name().toLowerCase(java.util.Locale.ROOT),
                "api_key", message.apiKey(), "lowest", message.lowestSupportedVersion(), "highest", message.highestSupportedVersion()));
        });
        return Json.object("types", types);
    }

    /** Random messages of one type and version: bytes as stored, the converter's JSON as text, unknown tags per struct. */
    static Object random(JsonNode request) throws Exception {
        Kind kind = KINDS.get(request.get("name").asText());
        short version = (short) request.get("version").asInt();
        Random random = new Random(request.get("seed").asLong());
        List<Object> messages = new ArrayList<>();
        for (int i = 0; i < Json.intOf(request, "count", 1); i++) {
            ApiMessage message = kind.message.get();
            List<Object> unknown = new ArrayList<>();
            fill(message, schema(message.getClass(), version), random, unknown);
            messages.add(Json.object("bytes", Json.base64(bytes(kind, message, version)), "json", json(message, version), "unknown_tags", unknown));
        }
        return Json.object("messages", messages);
    }

    /** What Kafka reads in given bytes: version, JSON and the count of bytes that it leaves; null for a version that it does not know. */
    static Object decode(JsonNode request) {
        Kind kind = KINDS.get(request.get("name").asText());
        List<Object> answers = new ArrayList<>();
        for (JsonNode node : request.get("values")) answers.add(Json.orError(() -> {
            ByteBuffer buffer = ByteBuffer.wrap(Json.bytes(node));
            ApiMessage message = kind.message.get();
            short version = 0;
            AbstractApiMessageSerde serde = serde(kind.framing);
            if (serde != null) {
                ApiMessageAndVersion both = serde.read(new ByteBufferAccessor(buffer), buffer.remaining());
                message = both.message();
                version = both.version();
            } else {
                short number = buffer.getShort();
                if (kind.framing == Framing.KEY && number != message.apiKey()) return null;
                if (kind.framing != Framing.KEY) version = number;
            }
            if (version < message.lowestSupportedVersion() || version > message.highestSupportedVersion()) return null;
            if (serde == null) message.read(new ByteBufferAccessor(buffer), version);
            return Json.object("name", message.getClass().getSimpleName(), "version", version, "json", json(message, version), "rest", buffer.remaining());
        }));
        return Json.object("values", answers);
    }

    private static byte[] bytes(Kind kind, ApiMessage message, short version) {
        return switch (kind.framing) {
            case KEY -> MessageUtil.toCoordinatorTypePrefixedBytes(message);
            case VALUE, PROTOCOL -> MessageUtil.toVersionPrefixedBytes(version, message);
            case METADATA, REMOTE -> {
                AbstractApiMessageSerde serde = serde(kind.framing);
                ApiMessageAndVersion both = new ApiMessageAndVersion(message, version);
                ObjectSerializationCache cache = new ObjectSerializationCache();
                ByteBuffer buffer = ByteBuffer.allocate(serde.recordSize(both, cache));
                serde.write(both, cache, new ByteBufferAccessor(buffer));
                yield buffer.array();
            }
        };
    }

    private static AbstractApiMessageSerde serde(Framing framing) {
        return framing == Framing.METADATA ? new MetadataRecordSerde() : framing == Framing.REMOTE ? REMOTE_SERDE : null;
    }

    private static String json(ApiMessage message, short version) throws Exception {
        Class<?> converter = Class.forName(message.getClass().getName() + "JsonConverter");
        return converter.getMethod("write", message.getClass(), short.class).invoke(null, message, version).toString();
    }

    private static Schema schema(Class<?> type, short version) throws Exception {
        Schema[] schemas = (Schema[]) type.getField("SCHEMAS").get(null);
        return schemas[version];
    }

    private static void fill(Message message, Schema schema, Random random, List<Object> unknown) throws Exception {
        for (BoundField bound : schema.fields()) {
            if (bound.def.type instanceof TaggedFields tagged) {
                // below a tagged field no unknown tags: a struct that has them is not at its default, whatever its fields say
                for (Field field : tagged.fields().values())
                    if (random.nextInt(3) > 0) set(message, field, random, null);
                if (unknown != null && random.nextInt(4) == 0) {
                    byte[] data = new byte[random.nextInt(6)];
                    random.nextBytes(data);
                    int tag = 100 + random.nextInt(1000);
                    message.unknownTaggedFields().add(new RawTaggedField(tag, data));
                    unknown.add(List.of(message.getClass().getSimpleName(), tag, Json.base64(data)));
                }
            } else {
                set(message, bound.def, random, unknown);
            }
        }
    }

    private static void set(Message message, Field field, Random random, List<Object> unknown) throws Exception {
        String wanted = field.name.replace("_", "");
        for (Method method : message.getClass().getMethods()) {
            if (!method.getName().equalsIgnoreCase("set" + wanted)) continue;
            method.invoke(message, value(field.type, method.getParameterTypes()[0], method.getGenericParameterTypes()[0], random, unknown));
            return;
        }
        throw new IllegalStateException("no setter for " + field.name + " of " + message.getClass());
    }

    private static Object value(Type type, Class<?> javaType, java.lang.reflect.Type generic, Random random, List<Object> unknown) throws Exception {
        if (type.isNullable() && random.nextInt(4) == 0) return null;
        if (type.isArray()) return array(type.arrayElementType().get(), javaType, generic, random, unknown);
        if (Message.class.isAssignableFrom(javaType)) {
            Message inner = (Message) javaType.getDeclaredConstructor().newInstance();
            fill(inner, (Schema) type, random, unknown);
            return inner;
        }
        if (type == Type.UINT16) return random.nextInt(4) == 0 ? 0xFFFF : random.nextInt(0x10000);
        if (javaType == boolean.class || javaType == Boolean.class) return random.nextBoolean();
        if (javaType == byte.class || javaType == Byte.class) return (byte) number(random, Byte.MIN_VALUE, Byte.MAX_VALUE);
        if (javaType == short.class || javaType == Short.class) return (short) number(random, Short.MIN_VALUE, Short.MAX_VALUE);
        if (javaType == int.class || javaType == Integer.class) return (int) number(random, Integer.MIN_VALUE, Integer.MAX_VALUE);
        if (javaType == long.class || javaType == Long.class) return number(random, Long.MIN_VALUE, Long.MAX_VALUE);
        if (javaType == double.class) return decimal(random);
        if (javaType == String.class) return text(random);
        if (javaType == Uuid.class) return random.nextInt(4) == 0 ? Uuid.ZERO_UUID : new Uuid(random.nextLong(), random.nextLong());
        if (javaType == byte[].class || javaType == ByteBuffer.class) {
            byte[] data = new byte[random.nextInt(5) == 0 ? 300 : random.nextInt(8)];
            random.nextBytes(data);
            return javaType == byte[].class ? data : ByteBuffer.wrap(data);
        }
        throw new IllegalStateException("no value of " + type + " as " + javaType);
    }

    @SuppressWarnings("unchecked")
    private static Object array(Type element, Class<?> javaType, java.lang.reflect.Type generic, Random random, List<Object> unknown) throws Exception {
        boolean list = javaType.isAssignableFrom(ArrayList.class);
        java.lang.reflect.Type of = list ? generic : javaType.getGenericSuperclass();
        Class<?> elementType = (Class<?>) ((ParameterizedType) of).getActualTypeArguments()[0];
        Collection<Object> elements = list ? new ArrayList<>() : (Collection<Object>) javaType.getDeclaredConstructor().newInstance();
        int size = random.nextInt(12) == 0 && !Message.class.isAssignableFrom(elementType) ? 200 : random.nextInt(ELEMENTS_MAX);
        for (int i = 0; i < size; i++) elements.add(value(element, elementType, elementType, random, unknown));
        return elements;
    }

    private static long number(Random random, long least, long most) {
        return switch (random.nextInt(6)) {
            case 0 -> 0;
            case 1 -> -1;
            case 2 -> least;
            case 3 -> most;
            case 4 -> random.nextInt(128);
            default -> random.nextLong();
        };
    }

    /** Numbers whose text is the same in every Java: before 19 some others have a digit too many. */
    private static double decimal(Random random) {
        double[] special = {0.0, -0.0, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, 1e-3, 9999999.5, 1e7, 1.5e10, -2.25e-4, 1024};
        return random.nextInt(2) == 0 ? special[random.nextInt(special.length)] : (random.nextInt() >> random.nextInt(31)) / 64.0;
    }

    private static String text(Random random) {
        return random.nextInt(8) == 0 ? TEXTS[1].repeat(random.nextInt(400)) : TEXTS[random.nextInt(TEXTS.length)];
    }
}
