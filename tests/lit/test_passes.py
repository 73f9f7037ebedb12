"""The passes of the installed wheel: what its bindings say of themselves, and the route through its C++ symbols."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from harness.errors import UnsupportedFlag
from harness.lit.compiler import Compiler, PassRequest, installed_compiler
from harness.lit.exported import pass_factories
from harness.lit.passes import PassBinding, parse_printed
from harness.lit.textual import TextualPipelines


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    return installed_compiler()


def pipeline_of(compiler: Compiler, *requests: PassRequest) -> str:
    manager = compiler.manager(compiler.context())
    for one in requests:
        compiler.add(manager, one)
    return manager.get_pipeline_str()


@pytest.fixture
def bindings_only(compiler):
    """The wheel as one that exports nothing."""
    found = Compiler(compiler.libtriton, "1.2.3", compiler.bindings)
    found.textual = TextualPipelines(compiler.libtriton, "the wheel does not export it")
    return found


def test_the_table_of_flags_is_read_off_the_bindings(compiler):
    assert len(compiler.bindings) > 90
    assert compiler.bindings["triton-combine"][0].parameters == ()
    pipeline = compiler.bindings["tritongpu-pipeline"][0]
    assert pipeline.parameters == ("int", "bool")
    assert pipeline.options == ("num-stages", "dump-intermediate-steps")
    convert = compiler.bindings["convert-triton-to-tritongpu"][0]
    assert convert.options == ("target", "num-warps", "threads-per-warp", "num-ctas")
    assert convert.fixed == {"enable-source-remat": "false"}


def test_a_pass_that_runs_on_functions_is_found_inside_its_op(compiler):
    binding = compiler.bindings["tritonamdgpu-canonicalize-pointers"][0]
    assert binding.fixed == {"enable-large-tensor-ptr-canon": "false"}


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        ("any(cse)", ("cse", {})),
        ("any(a-b{x=1 y=two})", ("a-b", {"x": "1", "y": "two"})),
        ("any(tt.func(a{x=true}))", ("a", {"x": "true"})),
        (
            "any(inline{default-pipeline=canonicalize  max=4 })",
            ("inline", {"default-pipeline": "canonicalize", "max": "4"}),
        ),
        ("any(cse,canonicalize)", None),
        ("any()", None),
    ],
)
def test_printed_pipelines(printed, found):
    assert parse_printed(printed) == found


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ({"n": "3", "b": "true"}, [3, True]),
        ({"b": "0", "n": "3", "fixed": "7"}, [3, False]),
        ({"n": "3"}, None),  # its default is nobody's to guess
        ({"n": "3", "b": "true", "fixed": "8"}, None),
        ({"n": "3", "b": "true", "other": "1"}, None),
        ({"n": "three", "b": "true"}, None),
        ({"n": "3", "b": "maybe"}, None),
    ],
)
def test_a_binding_is_used_only_for_what_it_can_say(given, arguments):
    binding = PassBinding("add", "p", lambda: None, ("int", "bool"), ("n", "b"), {"fixed": "7"})
    assert binding.arguments(given) == arguments


def test_a_default_that_triton_declares_need_not_be_given():
    binding = PassBinding("add", "convert-triton-amdgpu-to-llvm", lambda: None, ("str", "bool"), ("arch", "ftz"))
    assert binding.arguments({"arch": "gfx942"}) == ["gfx942", True]
    assert binding.arguments({"arch": "gfx942", "ftz": "false"}) == ["gfx942", False]
    assert binding.arguments({}) is None


def test_what_a_binding_sets_by_itself_is_not_taken_for_the_default(compiler):
    """Two backends' bindings for one pass, each with its own target: a bare flag means neither of them."""

    def never(*arguments):
        raise AssertionError("used")

    both = [PassBinding(f"libtriton.{name}.add", "p", never, (), (), {"target": name}) for name in ("amd", "nvidia")]
    found = Compiler(compiler.libtriton, "1.2.3", {"p": both})
    found.textual = TextualPipelines(compiler.libtriton, "none")
    with pytest.raises(UnsupportedFlag, match=r"is added by amd\.add and nvidia\.add in triton 1\.2\.3"):
        found.add(None, PassRequest("p"))
    with pytest.raises(AssertionError, match="used"):
        found.add(None, PassRequest("p", "target=nvidia"))


def test_an_argument_that_sets_no_option_rules_its_binding_out():
    assert PassBinding("add", "p", lambda: None, ("int",), ("",)).arguments({}) is None


def test_options_reach_the_pass(compiler):
    printed = pipeline_of(compiler, PassRequest("tritongpu-pipeline", "num-stages=5 dump-intermediate-steps=false"))
    assert "num-stages=5" in printed


def test_what_no_binding_can_say_is_unsupported_by_name(bindings_only):
    cases = {
        PassRequest("test-print-alignment"): "unsupported: test-print-alignment has no binding in triton 1.2.3",
        PassRequest("tritongpu-pipeline"): "unsupported: tritongpu-pipeline takes exactly num-stages, "
        "dump-intermediate-steps in triton 1.2.3, not ''",
        PassRequest("cse", "x=1"): "unsupported: cse takes exactly no option in triton 1.2.3, not 'x=1'",
    }
    for request, said in cases.items():
        with pytest.raises(UnsupportedFlag) as caught:
            pipeline_of(bindings_only, request)
        assert caught.value.what == said


def textual(compiler: Compiler) -> TextualPipelines:
    if compiler.textual.refusal:
        pytest.skip(compiler.textual.refusal)
    return compiler.textual


def test_every_pass_as_text_prints_as_its_binding_does(compiler):
    """The two routes make the same pass."""
    route = textual(compiler)
    compared = 0
    for flag, (binding, *_) in compiler.bindings.items():
        if binding.parameters or binding.fixed:
            continue
        by_binding = compiler.libtriton.ir.pass_manager(compiler.context())
        binding.add(by_binding)
        as_text = compiler.libtriton.ir.pass_manager(compiler.context())
        if not route.add(as_text, flag):
            compared += 1
            options = [parse_printed(one.get_pipeline_str()) for one in (by_binding, as_text)]
            assert options[0] == options[1], flag
    assert compared > 50


def test_a_pass_without_a_binding_runs_as_text(compiler):
    textual(compiler)
    assert "arith-expand" in pipeline_of(compiler, PassRequest("arith-expand"))
    assert "max-iterations=3" in pipeline_of(compiler, PassRequest("canonicalize", "max-iterations=3"))
    nested = PassRequest("pass-pipeline", pipeline="cse,canonicalize{max-iterations=3}")
    assert pipeline_of(compiler, nested).startswith("builtin.module(cse,canonicalize{")


def test_a_pass_of_functions_is_put_into_functions(compiler):
    textual(compiler)
    request = PassRequest("tritonamdgpu-canonicalize-pointers")
    assert pipeline_of(compiler, request).startswith("builtin.module(tt.func(tritonamdgpu-canonicalize-pointers")


def test_text_that_is_no_pipeline_is_unsupported(compiler):
    textual(compiler)
    with pytest.raises(UnsupportedFlag, match=r"^unsupported: no-such-pass has no binding in triton"):
        pipeline_of(compiler, PassRequest("no-such-pass"))
    with pytest.raises(UnsupportedFlag, match=r"cannot read the pipeline cse\{no-such-option=1\}"):
        pipeline_of(compiler, PassRequest("cse", "no-such-option=1"))


def test_a_pass_that_only_a_binding_adds_is_told_by_the_options_that_it_wants(compiler):
    textual(compiler)
    with pytest.raises(UnsupportedFlag, match=r"^unsupported: convert-triton-amdgpu-to-llvm takes exactly .*, ftz in"):
        pipeline_of(compiler, PassRequest("convert-triton-amdgpu-to-llvm", "no-such-option=1"))


def test_a_route_whose_self_test_crashes_is_refused(compiler, monkeypatch):
    """The child that tries it dies, and this process does not."""
    route = replace(textual(compiler))

    def crash(self, manager, pipeline):
        os.kill(os.getpid(), 11)

    monkeypatch.setattr(TextualPipelines, "add", crash)
    assert route._self_test() == "its self-test ended by signal 11"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("no", "is not read: no"),
        ("", "is read as builtin.module()"),
    ],
)
def test_a_route_that_does_not_do_as_it_should_is_refused(compiler, monkeypatch, answer, said):
    route = replace(textual(compiler))
    monkeypatch.setattr(TextualPipelines, "add", lambda self, manager, pipeline: answer)
    assert said in route._self_test()


def test_a_library_without_the_symbols_gives_no_route(compiler):
    class Library:
        __file__ = os.__file__

    assert "no 64-bit ELF library" in TextualPipelines.of(Library()).refusal  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("symbol", "is_factory"),
    [
        ("_ZN4mlir13createCSEPassEv", True),
        ("_ZN4mlir6triton3gpu22createTritonGPUPipelineEv", False),  # its length is not the name's
        ("_ZN4mlir6triton3gpu23createTritonGPUPipelineEv", True),
        ("_ZN4mlir6triton3gpu23createTritonGPUPipelineENS1_7OptionsE", False),
        ("_ZN4mlir20createDataFlowSolverEv", False),
        ("_ZN4mlir4LLVM17ModuleTranslation19createIdentMetadataEv", False),
        ("_ZN4mlir4LLVM31createLLVMLegalizeForExportPassEv", True),
        ("_ZN4mlir4impl13createCSEPassEv", False),
        ("_ZN4llvm13createCSEPassEv", False),
    ],
)
def test_factories_are_told_by_their_names(symbol, is_factory):
    assert pass_factories([symbol]) == ([symbol] if is_factory else [])
