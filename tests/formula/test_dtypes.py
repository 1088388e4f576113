"""One table of dtypes: its sizes are those of torch and ggml, its aliases mean one thing each."""

import pytest

from kvdocs.engines.llama_cpp.context import TYPES
from kvdocs.engines.vllm.dtypes import KV_DTYPES
from kvdocs.explain.subject import BITS
from kvdocs.formula.dtypes import DTYPES, NAMES, dtype_name, dtype_of, element_bytes, full_name
from kvdocs.formula.kv_dtype import ALGORITHMS, SCHEMES

# Names in STR_DTYPE_TO_TORCH_DTYPE of vLLM 0.33.0 (utils/torch_utils.py:40), and what each means in
# torch; vLLM itself keeps FP8 as uint8.
IN_TORCH = {
    "float32": "float32",
    "half": "float16",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float": "float32",
    "fp8_e4m3": "float8_e4m3fn",
    "fp8_e5m2": "float8_e5m2",
    "fp8_inc": "float8_e4m3fn",
    "int8": "int8",
}


@pytest.mark.parametrize("name", IN_TORCH)
def test_a_name_of_vllm_is_the_dtype_of_torch_with_its_size(name):
    torch = pytest.importorskip("torch")
    tensor = torch.empty(1, dtype=getattr(torch, IN_TORCH[name]))
    dtype = dtype_of(name)
    assert dtype.bytes == tensor.element_size() * dtype.elements
    assert dtype is dtype_of(str(tensor.dtype))


@pytest.mark.parametrize("alias", NAMES)
def test_an_alias_stands_for_one_dtype(alias):
    owners = [dtype.name for dtype in DTYPES.values() if alias in (dtype.name, *dtype.aliases)]
    assert owners == [full_name(f"torch.{alias.upper()}")]


def test_blocks_are_those_of_ggml():
    """Elements and bytes from ggml-common.h: a scale of 2 bytes, a minimum of 2 (…_1), the fifth
    bits of 32 elements (q5), and the elements."""
    scale, minimum, fifth, half = 2, 2, 4, 32 // 2
    assert {
        "f32": (1, 4),
        "f16": (1, 2),
        "bf16": (1, 2),
        "q8_0": (32, scale + 32),
        "q5_0": (32, scale + fifth + half),
        "q5_1": (32, scale + minimum + fifth + half),
        "q4_0": (32, scale + half),
        "q4_1": (32, scale + minimum + half),
        "iq4_nl": (32, scale + half),
    } == TYPES


@pytest.mark.parametrize("name", ["int8", "int4", "q8_0", "nvfp4", "auto", ""])
def test_a_cache_needs_floats_of_whole_bytes(name):
    for read in dtype_name, element_bytes:
        with pytest.raises(ValueError, match=r"choose one of float32, .*fp8_e5m2.*bf16"):
            read(name)


def test_what_quantisers_write_is_in_the_table_or_a_format_of_vllm():
    assert {*ALGORITHMS.values(), *SCHEMES.values()} <= {*DTYPES, *KV_DTYPES}


def test_explain_knows_every_dtype_that_a_cache_can_have():
    assert set(NAMES) - set(BITS) == {"int8", "int4"}
