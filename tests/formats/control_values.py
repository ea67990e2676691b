"""Values of control records, with what they say."""

DIRECTORY = "A_4DBAUGBwgJCgsMDQ4PEA"


ONE = "AAAAAAAAAAAAAAAAAAAAAQ"


LEADER_CHANGE_1 = (
    "000100000bb8030000000103fe030405060708090a0b0c0d0e0f100000000bb80000000000000000000000000000000100"
    "0200000bb8000000000000000000000000000000010000"
)


def voter(number, directory=None):
    return {"voterId": number} | ({} if directory is None else {"voterDirectoryId": directory})


# type, name, the value as Kafka 4.3.1's own message classes wrote it, what it says
VALUES = [
    (0, "ABORT", "000000000007", {"version": 0, "coordinatorEpoch": 7}),
    (1, "COMMIT", "0000ffffffff", {"version": 0, "coordinatorEpoch": -1}),
    (
        2,
        "LEADER_CHANGE",
        LEADER_CHANGE_1,
        {
            "version": 1,
            "leaderId": 3000,
            "voters": [voter(1, DIRECTORY), voter(3000, ONE)],
            "grantingVoters": [voter(3000, ONE)],
        },
    ),
    (
        2,
        "LEADER_CHANGE",
        "0000000000070200000007000100",
        {"version": 0, "leaderId": 7, "voters": [voter(7)], "grantingVoters": []},
    ),
    (
        3,
        "SNAPSHOT_HEADER",
        "00000000018bcfe5680000",
        {"version": 0, "lastContainedLogTimestamp": 1700000000000},
    ),
    (4, "SNAPSHOT_FOOTER", "000000", {"version": 0}),
    (5, "KRAFT_VERSION", "0000000100", {"version": 0, "kRaftVersion": 1}),
    (
        6,
        "KRAFT_VOTERS",
        "0000020000000103fe030405060708090a0b0c0d0e0f10020b434f4e54524f4c4c45520468c3a9ffff0000000001000000",
        {
            "version": 0,
            "voters": [
                {
                    **voter(1, DIRECTORY),
                    "endpoints": [{"name": "CONTROLLER", "host": "hé", "port": 65535}],
                    "kRaftVersionFeature": {"minSupportedVersion": 0, "maxSupportedVersion": 1},
                }
            ],
        },
    ),
]
