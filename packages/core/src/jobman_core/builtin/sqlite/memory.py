"""What front ends and reapers remember between runs."""

import json
from collections.abc import Mapping
from typing import Any

from jobman_core.builtin.sqlite import statements as sql
from jobman_core.builtin.sqlite.database import Tx


def remember(tx: Tx, who: str, facts: Mapping[str, Any]) -> None:
    """Write facts down; None forgets one."""
    for key, value in facts.items():
        if value is None:
            tx.run(sql.FORGET, who, key)
        else:
            tx.run(sql.REMEMBER, who, key, json.dumps(value))


def recall(tx: Tx, who: str, prefix: str) -> Mapping[str, Any]:
    """Give what somebody wrote down."""
    return {row["key"]: json.loads(row["value"]) for row in tx.all(sql.RECALL, who, prefix, prefix)}
