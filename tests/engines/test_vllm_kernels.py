"""vLLM's chooser of attention backends, asked for real: the words of its refusals."""

import pytest

from kvdocs.evidence.vllm.backends import AskedLayer, chosen
from kvdocs.evidence.vllm.geometry import geometry, published

pytestmark = pytest.mark.engine
pytest.importorskip("vllm", reason="vLLM is not installed here; run make test-engines")


def test_the_chooser_and_triton_are_really_asked():
    """Two accept; the words are Triton's refusal (triton_attn.py:522, mla/triton_mla.py:209)."""
    qwen, latent = geometry(published("Qwen/Qwen2.5-7B-Instruct")), AskedLayer(576, latent=True)
    assert chosen(AskedLayer(128), "fp8", "8.0", qwen) == "FlashInferBackend"
    assert chosen(latent, "fp8", "8.9", qwen) == "TritonMLABackend"
    for layer in (AskedLayer(96), AskedLayer(64, sinks=True), latent):
        with pytest.raises(ValueError, match=r"native FP8 \(fp8e4nv\) requires SM89\+"):
            chosen(layer, "fp8", "8.6", qwen)
