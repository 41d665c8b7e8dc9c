"""The Resource Manager API: the project, and what the account may do in it.

Source: google/cloud/resourcemanager/v3, google/iam/v1.
"""

from typing import Final

from google.cloud.resourcemanager_v3 import types
from google.iam.v1 import iam_policy_pb2

from jobman_emulator.apis.account import Account
from jobman_emulator.apis.rpc import Rpc
from jobman_emulator.errors import invalid
from jobman_emulator.rules import PROJECT_NUMBER

_SERVICE: Final = "google.cloud.resourcemanager.v3.Projects"
_API: Final = "cloudresourcemanager.googleapis.com"
RPCS: Final = (
    Rpc(_API, "GetProject", "resourcemanager.projects.get", _SERVICE, types.GetProjectRequest),
    Rpc(_API, "TestIamPermissions", "", _SERVICE, iam_policy_pb2.TestIamPermissionsRequest),
)


class Projects:
    """The methods on projects: any that is asked for is there."""

    def __init__(self, account: Account) -> None:
        """Tell what an account may."""
        self._account = account

    def get_project(self, request: types.GetProjectRequest, _version: str) -> types.Project:
        """Describe a project."""
        project = _project_of(request.name)
        return types.Project(
            name=f"projects/{PROJECT_NUMBER}",
            project_id=project,
            display_name=project,
            state=types.Project.State.ACTIVE,
        )

    def test_iam_permissions(
        self,
        request: iam_policy_pb2.TestIamPermissionsRequest,
        _version: str,  # noqa: PT019 - it is no test
    ) -> iam_policy_pb2.TestIamPermissionsResponse:
        """Say which of some permissions the account has."""
        _project_of(request.resource)
        has = [each for each in request.permissions if each not in self._account.denied]
        return iam_policy_pb2.TestIamPermissionsResponse(permissions=has)


def _project_of(name: str) -> str:
    match name.split("/"):
        case ["projects", project] if project:
            return project
    raise invalid(f"Invalid resource name '{name}': it must be projects/P")
