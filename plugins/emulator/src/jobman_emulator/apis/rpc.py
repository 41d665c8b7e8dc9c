"""What all methods of these APIs have."""

import attrs


@attrs.frozen
class Rpc:
    """A method of one of Google's APIs."""

    #: The host that answers for it, which is also the name of the service that has to be enabled.
    api: str
    #: As gRPC has it, like ``ListQuotaInfos``; faults call it so, too.
    name: str
    #: The permission that it takes; empty: any account has it.
    permission: str = ""
    #: The service that gRPC finds it in, and the type of its request; empty: it is asked by REST.
    service: str = ""
    request: type | None = None
