"""What is read of a `.mlir` file before anything runs: directives, conditions, commands, substitutions."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from harness.cases.lit_case import Condition, Definition, RunLine, is_lit_file, parse_lit_case
from harness.errors import CaseError, ParseError
from harness.lit.conditions import Features, evaluate
from harness.lit.shell import Command, Redirection, parse_commands
from harness.lit.substitutions import Substitutions

PATH = Path("lit_tests/licm/hoist.mlir")


def test_directives_are_read_in_order_wherever_they_stand_in_a_line():
    text = "\n".join(
        [
            "module {}  // RUN: one",
            "// DEFINE: %{flags} = -a -b",
            "// RUN: two \\",
            "// RUN:   | three",
            "// REQUIRES: a && b, c",
            "// UNSUPPORTED: d",
            "// XFAIL: *",
            "// END.",
            "// RUN: never",
        ]
    )
    case = parse_lit_case(text, PATH)
    assert case.script == (RunLine(1, "one"), Definition(2, "%{flags}", "-a -b"), RunLine(3, "two | three"))
    assert case.requires == (Condition(5, "a && b"), Condition(5, "c"))
    assert (case.unsupported, case.xfail) == ((Condition(6, "d"),), (Condition(7, "*"),))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("module {}\n", "case.mlir:1: the file has no RUN line (write // RUN: triton-opt %s --PASS | FileCheck %s)"),
        ("\n// RUN: a \\\n", "case.mlir:2: RUN ends in a backslash, and nothing follows"),
        ("// RUN: a \\\n// XFAIL: *\n", "case.mlir:1: RUN goes on in no further line"),
        ("// RUN: a\n// DEFINE: b = c\n", "case.mlir:2: cannot read the definition 'b = c'"),
    ],
)
def test_what_is_no_case_is_refused_at_its_line(refuse, text, said):
    assert refuse(text).startswith(said)


def test_words_that_only_look_like_directives_are_none(refuse):
    assert "no RUN line" in refuse("// RERUN: a\n// PRE-RUN: b\n// RUN a\n")


def test_helpers_of_other_cases_are_no_cases(tmp_path):
    names = ["a/b.mlir", "a/_b.mlir", "a/Inputs/b.mlir", "a/b.py"]
    assert [name for name in names if is_lit_file(Path(name))] == ["a/b.mlir"]


FEATURES = Features(Version("3.8.1"), lambda: True)


@pytest.mark.parametrize(
    ("text", "holds", "certain"),
    [
        ("triton-3.8", True, True),
        ("triton-3.7", False, True),
        ("triton-before-3.9", True, True),
        ("triton-before-3.8", False, True),
        ("triton-before-3.10", True, True),
        ("!triton-before-3.9", False, True),
        ("triton-3.7 || triton-3.8 && textual-pipelines", True, True),
        ("(triton-3.7 || triton-3.8) && !textual-pipelines", False, True),
        ("*", True, True),
        ("asserts", False, False),
        ("triton-3.8 && asserts", False, False),
    ],
)
def test_conditions_are_about_the_release(text, holds, certain):
    answer = evaluate(Condition(1, text), FEATURES, "case.mlir")
    assert (answer.holds, answer.certain) == (holds, certain)


@pytest.mark.parametrize("text", ["a &&", "&& a", "(a", "a)", "a b", "!", "a | b"])
def test_a_condition_that_is_none_is_refused_at_its_line(text):
    with pytest.raises(CaseError, match=r"^case.mlir:7: cannot read the condition"):
        evaluate(Condition(7, text), FEATURES, "case.mlir")


def test_a_development_release_counts_as_its_release():
    features = Features(Version("3.9.0+git1234"))
    assert features.has("triton-3.9") and not features.has("triton-before-3.9")


def test_pipes_connectors_and_redirections():
    steps = parse_commands("a -x='b c' < in 2>&1 | b >> out && c &> both || d; e")
    assert [step.connector for step in steps] == ["", "&&", "||", ";"]
    first, second = steps[0].commands
    assert first == Command(("a", "-x=b c"), (Redirection(0, "<", "in"), Redirection(2, ">&", "1")))
    assert second == Command(("b",), (Redirection(1, ">>", "out"),))
    assert steps[1].commands[0].redirections == (Redirection(1, ">", "both"), Redirection(2, ">&", "1"))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (r'"a \"b\" c"', 'a "b" c'),
        (r"'a \"b'", r"a \"b"),
        (r"a\ b", "a b"),
        ('--x="a b"c', "--x=a bc"),
        ("tile<2>1", "tile"),
    ],
)
def test_quotes_are_a_shells(text, word):
    assert parse_commands(text)[0].commands[0].words[0] == word


@given(st.lists(st.text(st.characters(codec="ascii", exclude_characters="\x00"), min_size=1), min_size=1))
def test_a_quoted_word_is_read_as_it_was(words):
    assert parse_commands(shlex.join(words))[0].commands[0].words == tuple(words)


@pytest.mark.parametrize("text", ["", "a |", "| a", "a && ", "a 'b", "a > ", "a $(b)", "a $HOME", "a `b`"])
def test_a_command_that_is_none_is_refused(text):
    with pytest.raises(ParseError):
        parse_commands(text)


def substituted(text: str, **defined: str) -> str:
    substitutions = Substitutions(Path("/here/case.mlir"), Path("/tmp"), lambda name: name == "yes")
    substitutions.defined.update({f"%{{{name}}}": value for name, value in defined.items()})
    return substitutions.apply(text)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("%s %S %p", "/here/case.mlir /here /here"),
        ("%t %t.out %t2 %T", "/tmp/case.mlir.tmp /tmp/case.mlir.tmp.out /tmp/case.mlir.tmp2 /tmp"),
        ("100%% %{s:stem}", "100% case"),
        ("--x=%if yes %{a%} %else %{b%} z", "--x=a z"),
        ("%if no %{a%}z", "z"),
        ("%if no %{ %if yes %{a%} %} %else %{%s%}", "/here/case.mlir"),
    ],
)
def test_substitutions(text, command):
    assert substituted(text) == command


def test_definitions_may_use_one_another_and_may_not_go_round():
    assert substituted("a %{all} %s", all="%{one} %{one}", one="1") == "a 1 1 /here/case.mlir"
    with pytest.raises(ParseError, match="round in circles"):
        substituted("%{a}", a="%{b}", b="%{a}")
    with pytest.raises(ParseError, match=r"nothing defines the substitution %\{c\}"):
        substituted("%{c}")
