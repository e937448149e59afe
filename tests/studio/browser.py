"""What the tests of the page need beside Python: a browser with its driver, and axe-core.

`python tests/studio/browser.py` installs what is missing, where that can be done: as root on
Debian, and with npm. The tests themselves never use the network; what they lack makes them skip.
"""

import os
import shutil
import subprocess
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "regard-tests"
AXE = CACHE / "node_modules" / "axe-core" / "axe.min.js"
AXE_VERSION = "4.14"


def browser() -> tuple[str, str] | None:
    """Chromium and its driver."""
    found = shutil.which("chromium"), shutil.which("chromedriver")
    return (found[0], found[1]) if found[0] and found[1] else None


def install() -> None:
    if browser() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        attempt(["apt-get", "update", "-qq"])
        packages = ("chromium", "chromium-driver")
        attempt(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages])
    if not AXE.exists() and shutil.which("npm"):
        CACHE.mkdir(parents=True, exist_ok=True)
        wanted = f"axe-core@{AXE_VERSION}"
        attempt(["npm", "install", "--prefix", str(CACHE), "--ignore-scripts", "--silent", wanted])
    for name, there in (("chromium", browser() is not None), ("axe-core", AXE.exists())):
        if not there:
            print(f"{name} is missing: the tests that need it will skip.")


def attempt(command: list[str]) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        subprocess.run(
            command, env=environment, stdout=subprocess.DEVNULL, timeout=600, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"{command[0]}: {error}")


if __name__ == "__main__":
    install()
