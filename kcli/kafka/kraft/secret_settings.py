"""Which settings in the metadata are secret.

The truth is `KafkaConfig.maybeSensitive`: what is of type PASSWORD, and what has a name that the broker does
not know, as a setting of a plugin. Such a broker answers null to DescribeConfigs.
"""

import re
from collections.abc import Mapping
from typing import Any

from formats.messages.metadata import CONFIG_RESOURCES

HIDDEN = "(hidden)"
OF_LISTENER = re.compile(r"listener\.name\.[^.]*\.(.*)", re.DOTALL)
OF_MECHANISM = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)
"""`DynamicBrokerConfig.ListenerMechanismConfigs`: the name of a SASL mechanism may stand before them."""
WITHOUT_SECRETS = frozenset({"BROKER_LOGGER", "CLIENT_METRICS"})
KNOWN = {
    "BROKER": """
    advertised.listeners background.threads compression.gzip.level compression.lz4.level compression.type
    compression.zstd.level config.providers connections.max.reauth.ms cordoned.log.dirs
    errors.deadletterqueue.auto.create.topics.enable errors.deadletterqueue.topic.name.prefix
    follower.fetch.last.tiered.offset.enable follower.replication.throttled.rate
    group.consumer.assignment.interval.ms group.consumer.assignor.offload.enable
    group.coordinator.cached.buffer.max.bytes group.share.assignment.interval.ms
    group.share.assignor.offload.enable group.streams.assignment.interval.ms
    group.streams.assignor.offload.enable leader.replication.throttled.rate
    listener.security.protocol.map listeners log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size
    log.cleaner.delete.retention.ms log.cleaner.io.buffer.load.factor log.cleaner.io.buffer.size
    log.cleaner.io.max.bytes.per.second log.cleaner.max.compaction.lag.ms log.cleaner.min.cleanable.ratio
    log.cleaner.min.compaction.lag.ms log.cleaner.threads log.cleanup.policy log.flush.interval.messages
    log.flush.interval.ms log.index.interval.bytes log.index.size.max.bytes log.local.retention.bytes
    log.local.retention.ms log.message.downconversion.enable log.message.timestamp.after.max.ms
    log.message.timestamp.before.max.ms log.message.timestamp.difference.max.ms
    log.message.timestamp.type log.preallocate log.remote.copy.lag.bytes log.remote.copy.lag.ms
    log.retention.bytes log.retention.ms log.roll.jitter.ms log.roll.ms log.segment.bytes
    log.segment.delete.delay.ms max.connection.creation.rate max.connections max.connections.per.ip
    max.connections.per.ip.overrides max.decompressed.message.bytes message.max.bytes metric.reporters
    min.insync.replicas num.io.threads num.network.threads num.recovery.threads.per.data.dir
    num.replica.fetchers principal.builder.class producer.id.expiration.ms remote.fetch.max.wait.ms
    remote.list.offsets.request.timeout.ms remote.log.index.file.cache.total.size.bytes
    remote.log.manager.copier.thread.pool.size remote.log.manager.copy.max.bytes.per.second
    remote.log.manager.expiration.thread.pool.size remote.log.manager.fetch.max.bytes.per.second
    remote.log.manager.follower.thread.pool.size remote.log.reader.threads
    replica.alter.log.dirs.io.max.bytes.per.second sasl.client.callback.handler.class
    sasl.enabled.mechanisms sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
    sasl.kerberos.principal.to.local.rules sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter
    sasl.kerberos.ticket.renew.window.factor sasl.login.callback.handler.class sasl.login.class
    sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
    sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
    sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms
    sasl.mechanism.controller.protocol sasl.mechanism.inter.broker.protocol
    sasl.oauthbearer.allow.unverified.audience sasl.oauthbearer.allow.unverified.issuer
    sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
    sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
    sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
    sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file
    sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.template.file
    sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.clock.skew.seconds
    sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer
    sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.jwks.endpoint.url
    sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class sasl.oauthbearer.scope
    sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url
    sasl.server.callback.handler.class sasl.server.max.receive.size
    share.coordinator.cached.buffer.max.bytes ssl.allow.dn.changes ssl.allow.san.changes
    ssl.cipher.suites ssl.client.auth ssl.enabled.protocols ssl.endpoint.identification.algorithm
    ssl.engine.factory.class ssl.keymanager.algorithm ssl.keystore.location ssl.keystore.type
    ssl.principal.mapping.rules ssl.protocol ssl.provider ssl.secure.random.implementation
    ssl.trustmanager.algorithm ssl.truststore.location ssl.truststore.type
    transaction.partition.verification.enable unclean.leader.election.enable
    """,
    "TOPIC": """
    cleanup.policy compression.gzip.level compression.lz4.level compression.type compression.zstd.level
    delete.retention.ms errors.deadletterqueue.group.enable file.delete.delay.ms flush.messages flush.ms
    follower.replication.throttled.replicas index.interval.bytes internal.segment.bytes
    leader.replication.throttled.replicas local.retention.bytes local.retention.ms max.compaction.lag.ms
    max.decompressed.message.bytes max.message.bytes message.downconversion.enable message.format.version
    message.timestamp.after.max.ms message.timestamp.before.max.ms message.timestamp.difference.max.ms
    message.timestamp.type min.cleanable.dirty.ratio min.compaction.lag.ms min.insync.replicas
    preallocate remote.copy.lag.bytes remote.copy.lag.ms remote.log.copy.disable
    remote.log.delete.on.disable remote.storage.enable retention.bytes retention.ms segment.bytes
    segment.index.bytes segment.jitter.ms segment.ms unclean.leader.election.enable
    """,
    "GROUP": """
    consumer.assignment.interval.ms consumer.assignor.offload.enable consumer.heartbeat.interval.ms
    consumer.session.timeout.ms errors.deadletterqueue.copy.record.enable
    errors.deadletterqueue.topic.name share.assignment.interval.ms share.assignor.offload.enable
    share.auto.offset.reset share.delivery.count.limit share.heartbeat.interval.ms share.isolation.level
    share.partition.max.record.locks share.record.lock.duration.ms share.renew.acknowledge.enable
    share.session.timeout.ms streams.acceptable.recovery.lag streams.assignment.interval.ms
    streams.assignor.name streams.assignor.offload.enable streams.heartbeat.interval.ms
    streams.initial.rebalance.delay.ms streams.num.standby.replicas streams.num.warmup.replicas
    streams.rack.aware.assignment.tags streams.session.timeout.ms streams.task.offset.interval.ms
    """,
}
"""Settings of 3.3 to 4.4 that are no passwords; of brokers the dynamic ones, and those of listeners."""
NO_PASSWORDS = {kind: frozenset(names.split()) for kind, names in KNOWN.items()}


def is_secret(resource_type: int, name: str) -> bool:
    """Whether no broker answers the value of a setting, by the type of its ConfigRecord."""
    kind = CONFIG_RESOURCES.get(resource_type, "")
    if kind in WITHOUT_SECRETS:
        return False
    public = NO_PASSWORDS.get(kind, frozenset())
    of_listener = OF_LISTENER.fullmatch(name) if kind == "BROKER" else None
    if of_listener is None:
        return name not in public
    base = of_listener[1]
    return next((suffix for suffix in OF_MECHANISM if base.endswith(suffix)), base) not in public


def may_hold_secret(resource_type: int, name: str) -> bool:
    """Whether a value may have a secret in it: also of a URL or a command line, which a broker answers."""
    return is_secret(resource_type, name) or name.endswith((".url", ".urls", ".cmd"))


def without_secrets(resource_type: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with the values of secrets hidden."""
    return {name: HIDDEN if is_secret(resource_type, name) else value for name, value in settings.items()}
