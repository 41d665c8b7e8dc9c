"""gcsfuse under the contract of storages."""

import os
import uuid

import pytest
from tests.plugins.gcsfuse.conftest import spec_of
from tests.support.buckets import BucketServer, stand_in

from jobman_core.clock import SystemClock
from jobman_core.interfaces.backend import Context
from jobman_core.models.job import JobSpec
from jobman_core.testing.storage_contract import StorageContract
from jobman_gcsfuse import Gcsfuse

pytestmark = [pytest.mark.e2e, pytest.mark.root, pytest.mark.fuse]


class TestGcsfuse(StorageContract):
    folder = "gcs"

    @pytest.fixture
    def storage(
        self,
        buckets: BucketServer,
        tmp_path_factory: pytest.TempPathFactory,
        monkeypatch: pytest.MonkeyPatch,
    ) -> Gcsfuse:
        folder = tmp_path_factory.mktemp("programs")
        program = folder / "gcsfuse"
        program.write_text(stand_in("3.5.0", buckets.url))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", buckets.url)
        return Gcsfuse(Context(folder, "home-1", SystemClock()))

    @pytest.fixture
    def spec(self, buckets: BucketServer) -> JobSpec:
        bucket = f"b-{uuid.uuid4()}"
        buckets.make(bucket)
        return spec_of({"bucket_name": bucket, "mount_path": self.folder})
