"""Lets vLLM's CPU backend take blocks of 16 tokens, the size that engines on GPUs have by default.

Its kernel has a path for them; only the list of sizes that the backend declares is coarser.
"""


def register() -> None:
    from vllm.v1.attention.backend import MultipleOf
    from vllm.v1.attention.backends.cpu_attn import CPUAttentionBackend

    CPUAttentionBackend.get_supported_kernel_block_sizes = staticmethod(lambda kv_cache_spec=None: [MultipleOf(16)])
