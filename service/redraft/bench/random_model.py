"""Models with random weights and a tokenizer of bytes: what a measurement needs where no model can be fetched."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, GenerationConfig, LlamaConfig, PreTrainedModel, PreTrainedTokenizerFast

from redraft.model.base import ModelSpec
from redraft.model.loading import LoadedModel
from redraft.model.runner import TorchTarget

_CONTROL = ("<unk>", "<|im_start|>", "<|im_end|>")
END = 2
"""The id of `<|im_end|>`."""

_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant{{ '\n' }}"  # Jinja drops a template's own last line break
)


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """Bytes as tokens, three control tokens and a chat template."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE({piece: index for index, piece in enumerate([*_CONTROL, *letters])}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|im_end|>", unk_token="<unk>")
    fast.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    fast.chat_template = _TEMPLATE
    return fast


@dataclass(frozen=True, slots=True)
class Shape:
    """A Llama's measures."""

    name: str
    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    vocab: int
    context: int = 8192


TINY = Shape("tiny", 64, 128, 3, 4, 2, 320, 4096)
ONE_B = Shape("1B", 2048, 8192, 16, 32, 8, 128_256)
SEVEN_B = Shape("7B", 4096, 14_336, 32, 32, 8, 32_000)


def random_llama(shape: Shape, dtype: torch.dtype, device: torch.device, scale: float = 1.0) -> PreTrainedModel:
    """A Llama with random weights, the same for the same shape; scale above 1 makes its choices clearer."""
    torch.manual_seed(7)
    config = LlamaConfig(
        vocab_size=shape.vocab,
        hidden_size=shape.hidden,
        intermediate_size=shape.intermediate,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        max_position_embeddings=shape.context,
        bos_token_id=1,
        eos_token_id=END,
        pad_token_id=0,
    )
    with device:
        model: PreTrainedModel = AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 2:
                parameter.mul_(scale)
    return model


def loaded(model: PreTrainedModel, shape: Shape, arena_tokens: int) -> LoadedModel:
    """The model as the service takes it."""
    count = sum(parameter.numel() for parameter in model.parameters())
    dtype = str(model.dtype).removeprefix("torch.")
    spec = ModelSpec(f"random-{shape.name}", shape.context, shape.vocab, (END,), str(model.device), dtype, count)
    return LoadedModel(TorchTarget(model, spec, arena_tokens), byte_tokenizer(), GenerationConfig(eos_token_id=END))
