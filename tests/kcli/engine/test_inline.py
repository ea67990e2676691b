"""The inline engine does what every engine does."""

import pytest

from kcli.engine.inline import inline
from tests.engine_suite import EngineSuite


class TestInline(EngineSuite):
    @pytest.fixture
    def engine(self):
        return inline
