"""What holds for the core's source as a whole: some rules are kept by what is never written."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "packages/core/src/jobman_core"
#: Programs of their own, which talk to whoever started them; the tests' own kit.
APART = ("__main__.py", "process/shim.py", "builtin/local/keeper.py", "testing/")
#: What waits on a thread of its own, or in a command that ends, for locks that others hold.
WAITS = ("clock.py", "builtin/sqlite/database.py", "builtin/local/keeper.py")
#: What is called in threads only.
IN_THREADS = ("packing/work_tree.py", "builtin/local/mounts.py")
SHELLS = ("sh", "bash", "/bin/sh", "/bin/bash")

MODULES = [
    path
    for path in sorted(CORE.rglob("*.py"))
    if not path.relative_to(CORE).as_posix().startswith("testing/")
]


def trees(*without: str) -> Iterator[tuple[str, ast.Module]]:
    for path in MODULES:
        name = path.relative_to(CORE).as_posix()
        if not name.startswith(without or ("-",)):
            yield name, ast.parse(path.read_text(encoding="utf-8"))


def found(node_text: tuple[str, ...], *without: str) -> list[str]:
    """Give the places where one of these expressions stands."""
    return [
        f"{name}:{node.lineno}: {ast.unparse(node)}"
        for name, tree in trees(*without)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node) in node_text
    ]


def test_the_core_prints_nothing() -> None:
    assert found(("print", "sys.stdout", "sys.stderr", "input"), *APART) == []


def test_the_core_ends_no_process_of_its_front_ends() -> None:
    assert found(("sys.exit", "exit", "os._exit"), *APART) == []


def test_clock_and_chance_are_passed_in() -> None:
    read = ("time.time", "time.monotonic", "time.sleep", "datetime.now", "datetime.utcnow")
    chance = ("random.random", "random.uniform", "random.choice", "random.randrange")
    # A look at a clock that is not to be waited for: how long a local command's end may take.
    assert found((*read, *chance), *WAITS, "builtin/local/slices.py") == []


def test_no_thread_or_process_is_waited_for_on_the_loop() -> None:
    waits = ("subprocess.run", "subprocess.Popen", "subprocess.check_output", "os.waitpid")
    assert found(waits, *APART, *IN_THREADS) == []


def test_there_is_no_module_level_state() -> None:
    """Constants are named Final; nothing else at module level can be changed."""
    mutable = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    wrong = [
        f"{name}:{node.lineno}: {ast.unparse(node)[:60]}"
        for name, tree in trees()
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        and "__all__" not in ast.unparse(node)
        and not (isinstance(node, ast.AnnAssign) and "Final" in ast.unparse(node.annotation))
        and (
            isinstance(node.value, mutable)
            or (isinstance(node.value, ast.Call) and _is_mutable_call(node.value))
        )
    ]
    wrong += [
        f"{name}:{node.lineno}: global {', '.join(node.names)}"
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Global)
    ]
    assert wrong == []


def _is_mutable_call(call: ast.Call) -> bool:
    made = ast.unparse(call.func).rpartition(".")[2]
    return made in {"list", "dict", "set", "defaultdict", "deque", "Queue", "Lock", "Event"}


def test_no_shell_reads_a_line_that_was_put_together() -> None:
    """What follows ``sh -c`` is a constant; everything else is an argument, a file or input."""
    names = ("os.system", "os.popen", "asyncio.create_subprocess_shell", "create_subprocess_shell")
    wrong = found(names)
    for name, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.keyword) and node.arg == "shell":
                wrong.append(f"{name}:{node.value.lineno}: shell=")
            if isinstance(node, (ast.Tuple, ast.List)):
                wrong += [f"{name}:{line.lineno}: {ast.unparse(line)}" for line in _lines(node)]
    assert wrong == []


def _lines(argv: ast.Tuple | ast.List) -> Iterator[ast.expr]:
    """Give what a shell would read as its program, where that is no constant."""
    words = argv.elts
    for shell, option, line in zip(words, words[1:], words[2:], strict=False):
        is_shell = isinstance(shell, ast.Constant) and shell.value in SHELLS
        takes_line = isinstance(option, ast.Constant) and "c" in str(option.value).lstrip("-")
        constant = isinstance(line, ast.Constant) or (
            isinstance(line, ast.Name) and line.id.lstrip("_").isupper()
        )
        if is_shell and takes_line and not constant:
            yield line


@pytest.mark.parametrize("line", ["f'rm {path}'", "'rm ' + path", "path", "quote(argv)"])
def test_a_line_that_was_put_together_would_be_seen(line: str) -> None:
    (expression,) = ast.parse(f"('sh', '-c', {line})").body
    assert isinstance(expression, ast.Expr)
    assert isinstance(expression.value, ast.Tuple)
    assert len(list(_lines(expression.value))) == 1
