"""Loops as machine code that is kept on disk: the compiler is loaded once on a machine, not in every process.

A loop is a function of pointers and sizes in a module of its own. Its machine code depends on the source of that module
and of those it takes functions from, on the versions of the compiler, and on the processor; it is kept under a name
made of all of these in the user's cache folder (``AEGIS_CACHE``, or ``$XDG_CACHE_HOME/aegis``, or ``~/.cache/aegis``).
Loading it takes a few hundredths of a second where importing the compiler takes more than one.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

_KINDS = {
    **{"u1": np.uint8, "u2": np.uint16, "u4": np.uint32, "i4": np.int32, "i8": np.int64},
    **{"f8": np.float64, "b1": np.bool_},
}
_LIBRARY = frozenset({"exp", "log", "sqrt", "rint", "memset", "memcpy", "memmove"})
"""What machine code may call from outside: functions that every process has."""
_NEVER = frozenset(
    {"numba_gil_ensure", "numba_gil_release", "numba_unpickle", "numba_runtime_build_excinfo_struct"}
    | {"numba_do_raise", "NRT_Free", "NRT_MemInfo_call_dtor"}
)
"""What the compiler prepares for loops that raise or allocate. None does; one that did would end the process."""


@dataclass(frozen=True, kw_only=True)
class Loop:
    """The function ``name`` of ``module``, which ``takes`` pointers (``f8*``), whole numbers (``i8``) and reals.

    ``sources`` are the modules whose source the machine code depends on besides its own. Calling it hands over arrays
    for the pointers, each in one piece and of the right type; other threads run meanwhile. It gives nothing back: what
    it found stands in the arrays.
    """

    name: str
    module: str
    takes: tuple[str, ...]
    sources: tuple[str, ...] = ()
    _ready: dict[str, Callable[..., None]] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, *arguments: Any) -> None:
        call = self._ready.get("call")
        if call is None:
            call = self._ready["call"] = self._loaded()
        if len(arguments) != len(self.takes):
            raise TypeError(f"{self.name} takes {len(self.takes)} arguments, not {len(arguments)}")
        given = []
        for kind, argument in zip(self.takes, arguments, strict=True):
            if kind.endswith("*"):
                if argument.dtype != _KINDS[kind[:-1]] or not argument.flags.c_contiguous:
                    raise TypeError(f"{self.name} takes arrays of {kind[:-1]} in one piece")
                given.append(argument.ctypes.data)
            else:
                given.append(argument)
        call(*given)

    @property
    def file(self) -> Path:
        """Where its machine code is kept."""
        return cache_folder() / f"{self.name}-{self._key()}.o"

    @property
    def is_kept(self) -> bool:
        return self.file.exists()

    def _key(self) -> str:
        digest = hashlib.sha256()
        for name in (self.module, *self.sources, __name__):
            spec = find_spec(name)
            assert spec is not None
            assert spec.origin is not None
            digest.update(Path(spec.origin).read_bytes())
        for text in (*self.takes, llvmlite.__version__, llvm.get_default_triple(), llvm.get_host_cpu_name()):
            digest.update(f"\0{text}".encode())
        digest.update(_features().encode())
        return digest.hexdigest()[:24]

    def _loaded(self) -> Callable[..., None]:
        code = _read(self.file)
        if code is None:
            code = self._compiled()
            _keep(self.file, code)
        engine = _engine()
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        address = engine.get_function_address(self.name)
        kinds: list[Any] = [
            ctypes.c_void_p if kind.endswith("*") else ctypes.c_double if kind == "f8" else ctypes.c_int64
            for kind in self.takes
        ]
        return ctypes.CFUNCTYPE(None, *kinds)(address)

    def _compiled(self) -> bytes:
        """The machine code, by way of the compiler: takes some seconds."""
        import numba  # more than a second: only where nothing is kept yet

        function = getattr(import_module(self.module), self.name)
        pointer: Any = numba.types.CPointer
        types = []
        for kind in self.takes:
            plain = numba.from_dtype(np.dtype(_KINDS[kind.removesuffix("*")]))
            types.append(pointer(plain) if kind.endswith("*") else plain)
        made = numba.cfunc(numba.void(*types), error_model="numpy")(function)
        module = llvm.parse_assembly(made.inspect_llvm())
        for each in module.functions:
            if each.name == made.native_name:
                each.name = self.name
            elif each.name in _NEVER:
                each.name = _never(each.name)  # or the compiler, where it is loaded too, would take these for its own
            elif each.is_declaration and each.name not in _LIBRARY and not each.name.startswith(("llvm.", "Py")):
                raise TypeError(f"{self.name} calls {each.name}, which not every process has")
        return bytes(_machine().emit_object(module))


def cache_folder() -> Path:
    """Where machine code is kept: a folder of the user's own."""
    named = os.environ.get("AEGIS_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "aegis"


def _read(file: Path) -> bytes | None:
    """What is kept, if nobody else could have written it."""
    try:
        for path in (file.parent, file):
            status = path.stat()
            if hasattr(os, "getuid") and (
                status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            ):
                return None
        return file.read_bytes()
    except OSError:
        return None


def _keep(file: Path, code: bytes) -> None:
    """Keep machine code for the next process; where nothing can be written, every process compiles anew."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as draft:
            draft.write(code)
        Path(draft.name).replace(file)
    except OSError:
        return


@cache
def _features() -> str:
    return str(llvm.get_host_cpu_features().flatten())


def _machine() -> llvm.TargetMachine:
    _initialize()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=_features(), opt=3, reloc="default", codemodel="jitdefault"
    )


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def _engine() -> llvm.ExecutionEngine:
    """What machine code is loaded into; it lives as long as the process."""
    fatal = ctypes.cast(ctypes.pythonapi.Py_FatalError, ctypes.c_void_p).value
    for name in _NEVER:
        llvm.add_symbol(_never(name), fatal)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())


def _never(name: str) -> str:
    return f"aegis_never_{name}"
