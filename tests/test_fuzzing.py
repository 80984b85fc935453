"""The fuzzer itself: a few of its inputs run as they should, and it notices what does not."""

from __future__ import annotations

from tools.fuzz import __main__ as fuzzing
from tools.fuzz import child


def test_some_inputs_run_and_none_of_them_surprises() -> None:
    ends, findings = fuzzing.run(0, 60)
    assert findings == []
    assert ends.total() == 60
    assert ends["ran"] > 5


def test_a_foreign_exception_is_a_finding(monkeypatch) -> None:
    monkeypatch.setattr(child, "ask", lambda *_: int("x"))
    assert child.outcome(1)["end"] == "foreign"


def test_an_input_that_ends_its_process_is_a_finding(monkeypatch) -> None:
    real = fuzzing.subprocess.run

    def killed(command, **options):
        # The second input of the first process does not end.
        script = "import json, os, signal; print(json.dumps({'begin': 5})); print(json.dumps({'seed': 5, 'end': 'ran'}));"
        script += "print(json.dumps({'begin': 6}), flush=True); os.kill(os.getpid(), signal.SIGPROF)"
        return real([command[0], "-c", script], **options) if command[3] == "5" else real(command, **options)

    monkeypatch.setattr(fuzzing.subprocess, "run", killed)
    ends, findings = fuzzing.run(5, 3)
    assert [finding["seed"] for finding in findings] == [6]
    assert ends["killed"] == 1
    assert ends.total() == 3
