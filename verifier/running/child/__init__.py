"""What runs in the target's process: it loads the target, calls it and sends back what it returned.

Standard library only, Python 3.8 or later; posvec need not be installed in the target's interpreter, which runs
this folder as a script (``__main__``). It speaks only to the process that started it
(``posvec.verifier.running.process``):

* requests come on the original standard input: ``<length: u32 little endian> <JSON>``;
* answers go to the original standard output: ``<token: 16 bytes> <header length: u32> <data length: u32>
  <JSON header> <raw data>``. The token is sent in the first request and is in every answer, so that a target
  which writes to descriptors at random is noticed and not believed.

Before the target loads, both are moved to private descriptors; descriptor 0 then reads nothing, 1 and 2 are
the captured output. On POSIX there are two processes: a supervisor, which only waits and kills what the target
left behind, and its child, in which the target runs.

All of this code is written for a hostile guest in its own process: functions it needs are bound before the
target loads, names resolve in private builtins, and methods of returned objects are never called unless their
class is NumPy's, Torch's or JAX's own. Hence no pathlib, contextlib or zip(strict=True), and printf formats,
which need no method that a target can replace. Imports are relative, since the package has another name there.
"""
