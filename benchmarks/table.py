"""The results as text for a terminal or as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.results import Row, geometric_mean, slow_rows, targets


@dataclass(frozen=True)
class Column:
    """`value` gives a row's cell; a column that is empty in every row is left out. `mean` names a ratio of
    the rows whose geometric mean stands in the last line."""

    title: str
    value: Callable[[Row], str]
    left: bool = False
    mean: Callable[[Row], float | None] | None = None


def render(rows: Sequence[Row], notes: Sequence[str], machine: Mapping[str, str], markdown: bool) -> str:
    """The table with its means, the targets, reasons, failures, how it was measured (`notes`) and where."""
    form = _markdown if markdown else _plain
    columns = [column for column in COLUMNS if any(column.value(row) for row in rows)]
    body = [[column.value(row) for column in columns] for row in rows]
    body.append([_mean(column, rows) for column in columns])
    parts = [
        form([column.title for column in columns], body, [column.left for column in columns]),
        form(
            ["target", "goal", "measured", "met"],
            [[one.what, one.goal, one.measured, _met(one.met)] for one in targets(rows)],
            [True] * 4,
        ),
        *_lists(rows, notes),
        form(["machine", ""], [[name, value] for name, value in machine.items()], [True, True]),
    ]
    return "\n\n".join(parts) + "\n"


def milliseconds(seconds: float | None) -> str:
    """Three significant digits, whole numbers from 100 on."""
    if seconds is None:
        return ""
    value = seconds * 1e3
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:,.{digits}f}"


def _interpreter(row: Row) -> str:
    if row.interpreter is None:
        return ""
    return ("~" if row.interpreter.estimated else "") + milliseconds(row.interpreter.seconds)


def _interpreted(row: Row) -> str:
    return f"{row.interpreter.count} of {row.interpreter.programs}" if row.interpreter else ""


def _times(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.2f}"


def _megabytes(count: int | None) -> str:
    return "" if count is None else f"{count / 1e6:,.0f}"


COLUMNS = (
    Column("kernel", lambda row: row.kernel, left=True),
    Column("size", lambda row: row.size, left=True),
    Column("grid", lambda row: " x ".join(map(str, row.grid)), left=True),
    Column("npu ms", lambda row: milliseconds(row.npu_seconds)),
    Column("executor ms", lambda row: milliseconds(row.executor_seconds)),
    Column("machine ms", lambda row: milliseconds(row.machine_seconds)),
    Column("machine / npu", lambda row: _times(row.slower_than_executor), mean=lambda row: row.slower_than_executor),
    Column("lower ms", lambda row: milliseconds(row.compile_seconds)),
    Column("machine peak MB", lambda row: _megabytes(row.machine_peak_bytes)),
    Column("torch ms", lambda row: milliseconds(row.torch_seconds)),
    Column("interpreter ms", _interpreter),
    Column("programs interpreted", _interpreted),
    Column(
        "interpreter / npu",
        lambda row: _times(row.faster_than_interpreter),
        mean=lambda row: row.faster_than_interpreter,
    ),
    Column("npu / torch", lambda row: _times(row.slower_than_torch), mean=lambda row: row.slower_than_torch),
    Column("buffers MB", lambda row: _megabytes(row.buffer_bytes)),
    Column("peak MB", lambda row: _megabytes(row.peak_bytes)),
    Column("twice the programs", lambda row: _times(row.doubling), mean=lambda row: row.doubling),
)


def _mean(column: Column, rows: Sequence[Row]) -> str:
    if column.mean is not None:
        return _times(geometric_mean(map(column.mean, rows)))
    return "geometric mean" if column is COLUMNS[0] else ""


def _met(met: bool | None) -> str:
    return {True: "yes", False: "no", None: ""}[met]


def _lists(rows: Sequence[Row], notes: Sequence[str]) -> list[str]:
    slow = [f"{row.kernel}: {row.why or 'no reason is given.'}" for row in slow_rows(rows)]
    failed = [f"{row.kernel}: {row.error}" for row in rows if row.error]
    titled = (
        ("More than 10 times slower than torch:", slow),
        ("Not measured:", failed),
        ("How it was measured:", notes),
    )
    return ["\n".join([title, "", *(f"- {line}" for line in lines)]) for title, lines in titled if lines]


def _plain(titles: Sequence[str], body: Sequence[Sequence[str]], left: Sequence[bool]) -> str:
    lines = [titles, *body]
    widths = [max(len(line[index]) for line in lines) for index in range(len(titles))]
    padded = [
        "  ".join(
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in lines
    ]
    return "\n".join([padded[0], "  ".join("-" * width for width in widths), *padded[1:]])


def _markdown(titles: Sequence[str], body: Sequence[Sequence[str]], left: Sequence[bool]) -> str:
    rule = ["---" if is_left else "---:" for is_left in left]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in [titles, rule, *body]
    )
