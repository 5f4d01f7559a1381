"""Imports the target as the interpreter would have it, and finds its function."""

from __future__ import annotations

import builtins
import os
import sys
from _frozen_importlib import module_from_spec
from _frozen_importlib_external import SourceFileLoader, spec_from_file_location

from .describe import MAX_NAMES, describe_raised, format_exception, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Functions below look names up here, not in the builtins that a target can replace.
globals()["__builtins__"] = dict(vars(builtins))

_modules = sys.modules


class Unavailable(Exception):
    """The target could not be loaded: ``reason`` and what the parent needs to explain it."""

    def __init__(self, reason: str, **fields: Any) -> None:
        super().__init__(reason)
        self.reason, self.fields = reason, fields


def load(request: dict[str, Any], seen_path: list[str], seen_modules: set[str]) -> Callable[..., Any]:
    """Import the target with its directory first on the path, as ``python file.py`` has it.

    ``seen_path`` and ``seen_modules`` are ``sys.path`` and the names in ``sys.modules`` that a script would see.
    """
    path = request["path"]
    sys.path[:] = seen_path
    for name in set(_modules) - seen_modules:
        # What this package imported is its own: the target imports its own copies, or what lies beside it.
        origin = getattr(_modules[name], "__file__", None)
        if origin is not None and origin.endswith(".py") and not name.startswith("encodings"):
            del _modules[name]
    _modules["__main__"] = type(sys)("__main__")
    try:
        module = load_module(request["module"]) if path is None else load_file(path)
    except Unavailable:
        raise
    except BaseException as error:
        fields = describe_raised(error)
        reason = "syntax" if isinstance(error, SyntaxError) and error.filename == path else "raised"
        raise Unavailable(reason, type=fields["t"], detail=fields["x"]) from None
    return find(module, request["attribute"])


def load_file(path: str) -> Any:
    """Run the file as a module. Its source is compiled afresh: a stale ``__pycache__`` proves nothing."""
    path = os.path.abspath(path)
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    sys.argv[:] = [path]
    name = os.path.basename(path)[:-3]
    if name in _modules:
        name = "posvec_target_" + name
    loader = SourceFileLoader(name, path)
    spec: Any = spec_from_file_location(name, path, loader=loader)
    module = module_from_spec(spec)
    _modules[name] = module
    with open(path, "rb") as file:
        source = file.read()
    try:
        code = compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:  # the latter, or one without a file's name, for null bytes
        fields = describe_raised(error)
        raise Unavailable("syntax", type=fields["t"], detail=fields["x"]) from None
    exec(code, module.__dict__)  # noqa: S102 - running the target is what this file is for
    return _modules.get(name, module)


def load_module(name: str) -> Any:
    """Import a module by name, with the current directory first on the path as ``python -m`` has it."""
    sys.path.insert(0, os.getcwd())
    sys.argv[:] = [name]
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        missing = error.name
        if type(missing) is str and (name + ".").startswith(missing + "."):
            raise Unavailable("no-module", missing=missing, detail=format_exception(error)) from None
        raise
    return _modules[name]


def find(module: Any, attribute: str) -> Callable[..., Any]:
    """Return the callable of that (dotted) name."""
    value = module
    for part in attribute.split("."):
        owner = value
        try:
            value = getattr(owner, part)
        except AttributeError:
            raise Unavailable("no-attribute", missing=part, names=callables(owner, module)) from None
        except BaseException as error:
            fields = describe_raised(error)
            raise Unavailable("raised", type=fields["t"], detail=fields["x"]) from None
    if not callable(value):
        raise Unavailable("not-callable", type=type_name(type(value)), names=callables(owner, module))
    return value  # type: ignore[no-any-return]


def callables(owner: Any, module: Any) -> list[str]:
    """Return the names of the functions and classes that the target itself defines."""
    names = []
    try:
        own = getattr(module, "__name__", None)
        for name, value in list(vars(owner).items()):
            if type(name) is str and name[:1] != "_" and callable(value):
                if getattr(value, "__module__", own) == own:
                    names.append(name[:MAX_NAMES])
    except Exception:
        return names
    return sorted(names)[:50]
