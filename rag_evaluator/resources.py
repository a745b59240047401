"""Files that come with the package: prompt packs, English prompts, the launcher, the sample, a first configuration."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent


def packaged(name: str, package: Path = PACKAGE) -> Path:
    """Where a file or folder of the repository lies, such as `prompts`: in the package, or beside it in a clone.

    An installed package has them in its folder `data`; what lies beside it belongs to others.
    """
    data = package / "data"
    return (data if data.is_dir() else package.parent) / name
