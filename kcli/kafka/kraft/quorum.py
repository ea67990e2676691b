"""Whether a node can take part in its quorum, and lead it: a controller that is no voter waits for ever.

The truth is `KafkaConfig` for static voters (controller.quorum.voters), `QuorumState` with `VoterSet` for the
voters record of a dynamic quorum (KIP-853), and `KafkaRaftClient.handleVoteRequest`: a voter votes for a
candidate whose log ends in a newer epoch than its own, or in the same epoch at its own end or past it. A
candidate needs the votes of a majority of all voters.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from formats.properties import MetaProperties
from kcli.kafka.kraft.meta_properties import KRAFT_ALONE, BrokerConfig, QuorumConfig, StartFailure
from kcli.kafka.kraft.metadata_loader import Metadata, Voter
from kcli.kafka.kraft.metadata_start import ILLEGAL_ARGUMENT

CONTROLLER_ROLE = "controller"
CONFIG_EXCEPTION = "ConfigException"
NO_NODE_ID = "Missing configuration `node.id` which is required when `process.roles` is defined"
ONE_ID = "You must set `node.id` to the same value as `broker.id`"
ONE_ID_4_4 = "`node.id` and `broker.id` must be set to the same value"
ONE_ID_REWORDED = (4, 4)
ONE_ROLE = "contains just the 'broker'", "must not"
BOOTSTRAP_SERVERS_KNOWN = (3, 9)
NO_VOTERS = "If using process.roles, controller.quorum.voters must contain a parseable set of voters."
NO_VOTERS_3_9 = (
    "If using process.roles, either controller.quorum.bootstrap.servers must contain the set of bootstrap "
    "controllers or controller.quorum.voters must contain a parseable set of controllers."
)
NODE_OF_VOTERS = (
    "requirement failed: If process.roles {} role, the node id {} {} be included in the set of voters "
    "controller.quorum.voters=Set({})"
)


class LogEnd(NamedTuple):
    """Where a metadata log ends: the epoch of its last record, and the offset after it; by this order."""

    last_epoch: int
    log_end_offset: int


class QuorumNode(NamedTuple):
    """A node whose metadata log is here: who it is, where that ends, who votes (static: no directory)."""

    node_id: int | None
    directory_id: str | None
    cluster_id: str | None
    end: LogEnd
    voters: tuple[Voter, ...]

    def votes_with(self, node: "QuorumNode") -> bool:
        """Whether this node is a voter by the log of another, or its own: of KIP-853 by its directory too."""
        ids = {None, self.directory_id}
        is_named = any(voter.node_id == self.node_id and voter.directory_id in ids for voter in node.voters)
        return self.cluster_id == node.cluster_id and is_named


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
    ids = (meta.directory_id, meta.cluster_id) if meta else (None, None)
    end = LogEnd(metadata.image.epoch, metadata.end_offset)
    return QuorumNode(node_id, *ids, end, _voters(metadata, static))


def is_controller(node_id: int | None, metadata: Metadata | None, config: QuorumConfig) -> bool:
    """Whether a node has the controller role: as configured, else where the metadata log names it a voter."""
    if config.roles is not None:
        return CONTROLLER_ROLE in config.roles
    return metadata is not None and node_id in recorded_voters(metadata)


def config_failures(config: BrokerConfig) -> Iterator[StartFailure]:
    """Yield why `KafkaConfig` ends the process, of what says which node this is and who its quorum are."""
    roles, voters, properties = config.quorum.roles, config.quorum.static_voters, config.properties or {}
    node, broker = (properties.get(name, "").strip() for name in ("node.id", "broker.id"))
    missing = None
    if not roles:
        missing = "zookeeper.connect" if config.version < KRAFT_ALONE else "process.roles"
    elif not (node or broker):
        missing = "node.id"
    if config.properties is not None and missing is not None and not properties.get(missing, "").strip():
        says = f'Missing required configuration "{missing}" which has no default value'
        if config.version < KRAFT_ALONE:
            says = NO_NODE_ID if missing == "node.id" else says.replace('"', "`")
        without = " and no process.roles" if missing == "zookeeper.connect" else ""
        yield StartFailure(CONFIG_EXCEPTION, f"there is no {missing}{without}", config.path, says)
    if node and broker and node != broker:
        says = ONE_ID_4_4 if config.version >= ONE_ID_REWORDED else ONE_ID
        message = f"node.id is {node}, and broker.id is {broker}"
        yield StartFailure(CONFIG_EXCEPTION, message, config.path, says)
    is_dynamic = config.version >= BOOTSTRAP_SERVERS_KNOWN
    if roles and voters is None and not (is_dynamic and config.quorum.has_bootstrap_servers):
        needs = " and no controller.quorum.bootstrap.servers" if is_dynamic else ", which 3.8 and older need"
        message = f"there is no controller.quorum.voters{needs}"
        yield StartFailure(CONFIG_EXCEPTION, message, config.path, NO_VOTERS_3_9 if is_dynamic else NO_VOTERS)
    if roles and voters is not None and config.node_id is not None:
        is_controller = CONTROLLER_ROLE in roles
        if is_controller != (config.node_id in voters):
            role, must = ("contains the 'controller'", "must") if is_controller else ONE_ROLE
            says = NODE_OF_VOTERS.format(role, config.node_id, must, ", ".join(map(str, voters)))
            has = "no node" if is_controller else "node"
            message = f"controller.quorum.voters has {has} {config.node_id}, whose process.roles are "
            yield StartFailure(ILLEGAL_ARGUMENT, message + ",".join(sorted(roles)), config.path, says)


def wait_reason(
    node_id: int | None, directory_id: str | None, metadata: Metadata | None, config: QuorumConfig
) -> str | None:
    """Return why a node, of a metadata log dir's `directory_id`, is never ready, as far as is known here."""
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
        lacks = "no voters record in the metadata log"
        if metadata is None:
            lacks = "no metadata log, so no voters record"
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


class Ballot(NamedTuple):
    """Votes that a candidate gets for sure, and whether they suffice; None: voters whose logs lack decide."""

    votes: int
    is_electable: bool | None


def ballot_of(node: QuorumNode, nodes: Collection[QuorumNode], failed: int | None = None) -> Ballot | None:
    """Return a node's ballot among the logs here, of copies the furthest; None for one that is no voter."""
    if not node.votes_with(node):
        return None
    voting = sorted((voter for voter in nodes if voter.votes_with(node)), key=lambda voter: voter.end)
    ends = {voter.node_id: voter.end for voter in voting if voter.node_id is not None}
    voters = {voter.node_id for voter in node.voters}
    return ballot(node.node_id or 0, {**ends, node.node_id or 0: node.end}, voters, failed)


def majority(voters: Collection[int]) -> int:
    """Return how many votes it takes."""
    return len(voters) // 2 + 1


def ballot(candidate: int, ends: Mapping[int, LogEnd], voters: Collection[int], failed: int | None) -> Ballot:
    """Return what a candidate whose log is in `ends` can reckon with, the leader that `failed` apart."""
    live = [voter for voter in voters if voter != failed]
    own = ends[candidate]
    votes = sum(voter in ends and ends[voter] <= own for voter in live)
    if candidate not in live:
        return Ballot(votes, is_electable=False)
    unknown = sum(voter not in ends for voter in live)
    needed = majority(voters)
    if votes >= needed:
        return Ballot(votes, is_electable=True)
    return Ballot(votes, is_electable=False if votes + unknown < needed else None)
