"""What Google's Python clients are told, pinned in ``golden/python_*.json``, and seen as gcloud.

JOBMAN_RENEW_GOLDEN=1 writes these files anew.
"""

from typing import Any

import pytest
from google.api_core import exceptions
from google.protobuf import json_format
from tests.plugins.emulator.conftest import PARENT, Api, Rest, node_name, queued_name
from tests.plugins.emulator.recorder import comparable, compare

from jobman_emulator.testing import Running

pytestmark = pytest.mark.e2e


def as_json(message: Any) -> Any:
    return json_format.MessageToDict(type(message).pb(message))


@pytest.mark.parametrize("version", ["v2", "v2alpha1"])
def test_a_client_creates_lists_describes_and_deletes_a_node_and_a_queued_resource(
    emulator: Running, api: Api, alpha: Api, rest: Rest, version: str
) -> None:
    client = api if version == "v2" else alpha
    told = {"created": as_json(client.ready_node("n", "v4-16", labels={"owner": "me"}))}
    told["accepted"] = as_json(client.create_queued("q", "qn").result())
    client.await_queued("q", "ACTIVE")
    told["active"] = as_json(client.queued("q"))
    told["node"] = as_json(client.client.get_node(name=node_name("qn")))
    told["nodes"] = [as_json(node) for node in client.client.list_nodes(parent=PARENT)]
    # gcloud's door shows the same at the same moment.
    assert rest("GET", f"{version}/{queued_name('q')}") == (200, told["active"])
    assert rest("GET", f"{version}/{PARENT}/nodes") == (200, {"nodes": told["nodes"]})
    emulator.preempt("q")
    told["suspended"] = as_json(client.queued("q"))
    client.delete_queued("q").result()
    client.delete_node("n").result()
    with pytest.raises(exceptions.NotFound) as absent:
        client.client.get_node(name=node_name("n"))
    told["absent"] = str(absent.value)
    assert emulator.counts().empty
    compare(f"python_{version}", comparable(told))
