"""What a file of a scenario may not be."""

import pytest

from kcli.jobs.replica.simulate import parsed
from kcli.kafka.replication.simulation import ScenarioError


@pytest.mark.parametrize(
    ("toml", "answer"),
    [
        ("replicas = [", "x: "),
        ('replicas = ["A"]', "steps: expected a list of texts"),
        ('steps = ["elect A"]', "replicas: expected a list of texts"),
        ('replicas = ["A", "A"]\nsteps = ["elect A"]', "each once"),
        ('replicas = ["A"]\nsteps = ["elect A"]\nleader = "B"', "leader B: expected one of the replicas"),
        ('replicas = ["A"]\nsteps = ["elect A"]\nprotocol = "raft"', "protocol raft: expected one of"),
        ('replicas = ["A"]\nsteps = ["elect A"]\nbrokers = 3', "brokers: expected title"),
        (f'replicas = ["A"]\nsteps = ["produce {"x" * 200}"]', "of 100 characters each"),
    ],
)
def test_what_is_no_scenario_is_refused(toml, answer):
    with pytest.raises(ScenarioError) as error:
        parsed("x", toml)

    assert answer in str(error.value)
