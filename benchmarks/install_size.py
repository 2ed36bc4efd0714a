"""How large a plain install is: the wheel in a fresh environment, without extras, by package.

    python benchmarks/install_size.py

Needs a package index that pip reaches. What pip and the environment itself take is named apart.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from _result import write

HERE = Path(__file__).parent.parent
OWN = ("pip", "setuptools", "pkg_resources", "_distutils_hack")


def size_mb(path: Path) -> float:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file() and not file.is_symlink()]
    return sum(file.stat().st_size for file in files) / 1e6


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        wheels, home = Path(folder) / "wheels", Path(folder) / "home"
        pip = [sys.executable, "-m", "pip"]
        subprocess.run([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, HERE], check=True)
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        python = home / "bin" / "python"
        (wheel,) = wheels.glob("*.whl")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-compile", wheel], check=True)
        (packages,) = home.glob("lib/python*/site-packages")
        sizes = {path.name: size_mb(path) for path in packages.iterdir()}
        answers = subprocess.run([home / "bin" / "aegis", "--version"], check=True, capture_output=True, text=True)
    own = sum(mb for name, mb in sizes.items() if name.startswith(OWN))
    largest = dict(sorted(sizes.items(), key=lambda item: -item[1])[:15])
    total = sum(sizes.values())
    write(
        "install_size",
        {
            "wheel_mb": round(sizes["aegis"], 1),
            "installed_mb": round(total - own, 1),
            "of_the_environment_mb": round(own, 1),
            "largest_mb": {name: round(mb, 1) for name, mb in largest.items()},
            "packages": sum(name.endswith(".dist-info") for name in sizes),
            "answers": answers.stdout.strip(),
        },
    )
    print(f"{total - own:.0f} MB without pip")


if __name__ == "__main__":
    main()
