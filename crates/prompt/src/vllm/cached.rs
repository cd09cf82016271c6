//! How many tokens of a prompt an engine takes from its cache.

use headwater_signature::BlockSize;

/// The `cached_tokens` of a prompt of `prompt_tokens`, of which the first `equal_leading_tokens`
/// are the beginning of a prompt that is still cached whole.
///
/// Only whole blocks are reused, and the last token of a prompt is always computed again, since
/// its output is what the request is for: the smaller of the equal tokens and all but one, down
/// to a block border.
///
/// Source: measured on vLLM 0.32.0 (CPU) with blocks of 16 and of 32 tokens, every pair of
/// prompts of `tests/engine/vllm` to the token. llama.cpp is the same with blocks of one token,
/// and knows no salt. Engines that reuse parts of a block, as TensorRT-LLM does by default,
/// reuse more.
pub fn predicted_cached(
    equal_leading_tokens: usize,
    prompt_tokens: usize,
    block: BlockSize,
) -> usize {
    let reusable = equal_leading_tokens.min(prompt_tokens.saturating_sub(1));
    let block = usize::try_from(block.get()).unwrap_or(usize::MAX);
    reusable / block * block
}
