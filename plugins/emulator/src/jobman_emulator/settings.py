"""The file that ``jobman emulator up --config`` takes."""

from collections.abc import Mapping
from pathlib import Path

import attrs

from jobman_core.errors import InvalidInputError
from jobman_emulator.control import Control
from jobman_emulator.errors import ApiError


@attrs.frozen
class Settings:
    """How an emulator behaves from its start on; all of it may be left out."""

    #: Seconds from a request until hosts boot.
    provisioning: float = 1.0
    #: Seconds from the end of the hosts until a deleted name is free.
    deleting: float = 0.3
    #: Seconds from one state of a preemption to the next.
    suspending: float = 0.3
    #: By zone and type: slices at once.
    capacity: Mapping[str, Mapping[str, int]] = attrs.field(factory=dict)
    #: The same, of reserved ones.
    reserved: Mapping[str, Mapping[str, int]] = attrs.field(factory=dict)
    #: By zone or region, and by what it limits.
    quota: Mapping[str, Mapping[str, int]] = attrs.field(factory=dict)

    @classmethod
    def read(cls, path: Path) -> "Settings":
        """Read a YAML file.

        Raises:
            InvalidInputError: it cannot be read, or says what there is not.
        """
        import cattrs
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError

        converter = cattrs.Converter(forbid_extra_keys=True)
        try:
            return converter.structure(YAML(typ="safe").load(path) or {}, cls)
        except (OSError, YAMLError) as error:
            said = " ".join(str(error).split())
            raise InvalidInputError(f"{path} cannot be read: {said}") from error
        except cattrs.BaseValidationError as error:
            faults = "; ".join(cattrs.transform_error(error))
            known = ", ".join(field.name for field in attrs.fields(cls))
            raise InvalidInputError(f"{path}: {faults}: it may have {known}") from error

    async def apply(self, control: Control) -> None:
        """Set the capacities and quotas of an emulator.

        Raises:
            InvalidInputError: there is no such zone or type.
        """
        try:
            for reserved, limits in ((False, self.capacity), (True, self.reserved)):
                for zone, types in limits.items():
                    for accelerator, count in types.items():
                        await control.capacity(zone, accelerator, count, reserved=reserved)
            for place, limited in self.quota.items():
                for what, limit in limited.items():
                    await control.quota(place, what, limit)
        except ApiError as error:
            raise InvalidInputError(error.message) from error
