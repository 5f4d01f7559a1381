"""The pytest plugin: ``pytest --posvec TARGET``, and the fixture ``posvec_case``.

pytest loads this module in every run of every project where posvec is installed. So it imports nothing but the standard
library and pytest; all else is imported when a run asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from posvec.verifier.known_cases import KnownCase
    from posvec.verifier.plugin.items import Collected

_OPTIONS = (
    ("posvec", "TARGET", "Check package.module:function or path/file.py:function against golden vectors."),
    ("posvec-exec", "COMMAND", "Check a program in any language instead, e.g. 'node port.mjs'."),
    ("posvec-match", "LEVEL", "exact, equivalent or ulp:N. Default: that of the suite."),
    ("posvec-vectors", "FILE|DIR", "Golden file, or a folder with some. Default: those shipped with posvec."),
    ("posvec-suite", "NAME", "The function under test; `posvec suites` lists them."),
    ("posvec-stream", "STREAM", "partitionable or original: which integers a seed gives."),
    ("posvec-known-failing", "FILE", "Cases that are known to fail, each with a reason."),
)
_QUICK = "At most 100 cases that cover every value of every axis."
_MARKER = "posvec(suite, vectors, stream, match, quick, select): which cases the fixture posvec_case stands for."
_COLLECTED: pytest.StashKey[Collected] = pytest.StashKey()
_FIXTURE = "posvec_case"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, and for each a setting of the same name: ``posvec = mypkg:fn`` in pyproject.toml."""
    group = parser.getgroup("posvec", "posvec: golden vectors for position embeddings")
    for name, metavar, text in _OPTIONS:
        group.addoption(f"--{name}", metavar=metavar, default=None, help=text)
        parser.addini(name.replace("-", "_"), f"As --{name}: {text}")
    group.addoption("--posvec-quick", action="store_true", default=None, help=_QUICK)
    parser.addini("posvec_quick", f"As --posvec-quick: {_QUICK}", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known, and find out whether this run is asked to check something."""
    config.addinivalue_line("markers", _MARKER)
    options = (config.getoption("posvec"), config.getoption("posvec_exec"))
    settings = (config.getini("posvec"), config.getini("posvec_exec"))
    if any(options) or any(settings):
        from posvec.verifier.plugin.items import Collected

        config.stash[_COLLECTED] = Collected(config, asked=any(options))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Find out what is wrong with the options before anything runs, and before xdist starts its workers."""
    collected = session.config.stash.get(_COLLECTED, None)
    if collected is not None:
        collected.open()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add an item a case group, before ``-k`` chooses among the items."""
    collected = config.stash.get(_COLLECTED, None)
    if collected is not None:
        items += collected.items(session)
    keyword = config.getoption("keyword", "")
    if "=" in keyword and (collected is not None or any(_FIXTURE in getattr(i, "fixturenames", ()) for i in items)):
        from posvec.verifier.plugin.keywords import as_keyword, keywords_of

        config.option.keyword = as_keyword(keyword)
        for item in items:
            item.extra_keyword_matches.update(keywords_of(item.name))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Call a test that uses ``posvec_case`` once a case."""
    if _FIXTURE in metafunc.fixturenames:
        from posvec.verifier.plugin.items import fixture_cases

        marker = metafunc.definition.get_closest_marker("posvec")
        found = fixture_cases(metafunc.config, {} if marker is None else marker.kwargs)
        metafunc.parametrize(_FIXTURE, found, ids=str, indirect=True)


@pytest.fixture
def posvec_case(request: pytest.FixtureRequest) -> KnownCase:
    """One golden case; a test that uses it is called once a case. See posvec.verifier.cases."""
    case: KnownCase = request.param
    return case


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End the target's processes, and judge the run as a whole: it can fail though each item passes."""
    collected = session.config.stash.get(_COLLECTED, None)
    if collected is None:
        return
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["posvec"] = collected.close()
    elif collected.finish() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say at the end what `posvec verify` would say of all the cases that ran."""
    collected = config.stash.get(_COLLECTED, None)
    lines: Iterator[str] = iter(()) if collected is None else collected.summary()
    for number, line in enumerate(lines):
        if number == 0:
            terminalreporter.write_sep("=", "posvec")
        terminalreporter.write_line(line)


# With xdist: what the workers are told, and what they answer.


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker whether there are items: it cannot tell settings from options."""
    collected = node.config.stash.get(_COLLECTED, None)
    if collected is not None:
        node.workerinput["posvec"] = collected.wanted


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take in the answers that a worker's items got."""
    collected = node.config.stash.get(_COLLECTED, None)
    answers = (getattr(node, "workeroutput", None) or {}).get("posvec")
    if collected is not None and answers is not None:
        collected.take(answers)
