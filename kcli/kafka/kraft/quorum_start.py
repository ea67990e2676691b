"""Whether a node can take part in its quorum: a controller that is no voter waits for ever, without an error.

The truth is `KafkaConfig` for static voters (controller.quorum.voters), and `QuorumState` with `VoterSet` for
the voters record of a dynamic quorum (KIP-853).
"""

from collections.abc import Mapping, Sequence

from formats.properties import MetaProperties
from kcli.kafka.kraft.failover import LogEnd, QuorumNode
from kcli.kafka.kraft.meta_properties import QuorumConfig, StartFailure
from kcli.kafka.kraft.metadata_loader import Metadata, Voter
from kcli.kafka.kraft.metadata_start import ILLEGAL_ARGUMENT

CONTROLLER_ROLE = "controller"


def quorum_config(properties: Mapping[str, str]) -> QuorumConfig:
    """Return what the properties of a node say of its quorum; voters that are malformed are none."""
    roles = [role.strip() for role in properties.get("process.roles", "").split(",") if role.strip()]
    voters = [voter.strip() for voter in properties.get("controller.quorum.voters", "").split(",")]
    numbers = [voter.partition("@")[0] for voter in voters]
    return QuorumConfig(
        frozenset(roles) if roles else None,
        tuple(int(number) for number in numbers if number.isdecimal()) or None,
        bool(properties.get("controller.quorum.bootstrap.servers", "").strip()),
    )


def recorded_voters(metadata: Metadata) -> tuple[int, ...]:
    """Return the voters of a metadata log: of its voters record, else of quorum-state or the last leader."""
    return tuple(voter.node_id for voter in _voters(metadata))


def _voters(metadata: Metadata, static: Sequence[int] | None = None) -> tuple[Voter, ...]:
    if metadata.voters:
        return metadata.voters
    named = static or (metadata.quorum.voters if metadata.quorum is not None else ())
    return tuple(Voter(node_id, None) for node_id in named)


def quorum_node(
    node_id: int | None, meta: MetaProperties | None, metadata: Metadata, static: Sequence[int] | None = None
) -> QuorumNode:
    """Return a node of the quorum; `meta` is of its metadata log dir, `static` are the configured voters."""
    return QuorumNode(
        node_id,
        meta.directory_id if meta else None,
        meta.cluster_id if meta else None,
        LogEnd(metadata.image.epoch, metadata.end_offset),
        _voters(metadata, static),
    )


def is_controller(node_id: int | None, metadata: Metadata | None, config: QuorumConfig) -> bool:
    """Whether a node has the controller role: as configured, else where the metadata log names it a voter."""
    if config.roles is not None:
        return CONTROLLER_ROLE in config.roles
    return metadata is not None and node_id in recorded_voters(metadata)


def quorum_failure(node_id: int | None, config: QuorumConfig) -> StartFailure | None:
    """Return why a controller's process ends for its quorum; None where it does not."""
    voters = config.static_voters
    if config.roles is None or CONTROLLER_ROLE not in config.roles or voters is None or node_id is None:
        return None
    if node_id in voters:
        return None
    message = f"controller.quorum.voters has no node {node_id}, whose process.roles have controller"
    return StartFailure(ILLEGAL_ARGUMENT, message, "server.properties")


def wait_reason(
    node_id: int | None, directory_id: str | None, metadata: Metadata | None, config: QuorumConfig
) -> str | None:
    """Return why a node is never ready; None where nothing here says so.

    `directory_id` is that of its metadata log dir. Whether other voters answer is not known here.
    """
    recorded = () if metadata is None else recorded_voters(metadata)
    if node_id is None or not is_controller(node_id, metadata, config):
        voters = config.static_voters
        is_other = bool(voters and recorded and not set(voters) & set(recorded))
        if not is_other or config.roles is None or voters is None:
            return None
        names = [", ".join(map(str, each)) for each in (recorded, voters)]
        return f"the metadata log here is of the voters {names[0]}, and the node asks the voters {names[1]}"
    if metadata is not None and metadata.voters:
        return _no_voter(node_id, directory_id, metadata.voters)
    if config.roles is not None and config.static_voters is None and config.has_bootstrap_servers:
        lacks = (
            "no metadata log, so no voters record"
            if metadata is None
            else "no voters record in the metadata log"
        )
        return f"{lacks}, and no controller.quorum.voters: no node may lead"
    return None


def _no_voter(node_id: int, directory_id: str | None, voters: Sequence[Voter]) -> str | None:
    """Return why a controller is no voter of a voters record; None where it is one."""
    ids = [voter.directory_id for voter in voters if voter.node_id == node_id]
    if not ids:
        names = ", ".join(str(voter.node_id) for voter in voters)
        return f"node {node_id} is no voter of the voters record, which has {names}"
    if directory_id in ids:
        return None
    mine = directory_id or "none"
    return f"the voters record has directory.id {ids[0]} of node {node_id}, its log dir {mine}"
