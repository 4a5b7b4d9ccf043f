"""The demo model with a LoRA (Hu et al. 2021) on all its linear layers, cheap to train on a CPU."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from torch.nn import functional
from transformers import AutoModelForCausalLM

from training.examples import Example

_LAYERS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
_WEIGHTS, _CONFIG = "adapter_model.safetensors", "adapter_config.json"


class Trainee:
    """A frozen model and its adapter.

    In bfloat16 only the frozen matrices and their products are bfloat16; the residual stream, the norms, the adapter
    and the loss stay float32.
    """

    def __init__(self, folder: str, rank: int, alpha: int, precision: str, name: str) -> None:
        """folder: of the model; precision: float32, bfloat16 or auto: whichever multiplies faster here."""
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa")
        config = LoraConfig(r=rank, lora_alpha=alpha, target_modules=_LAYERS, lora_dropout=0.0, task_type="CAUSAL_LM")
        self.precision = fastest_precision() if precision == "auto" else precision
        self.model: PeftModel = get_peft_model(model, config)
        self._name = name
        self._dtype = getattr(torch, self.precision)
        base: Any = self.model.get_base_model()
        self._decoder = base.model
        self._head = base.get_output_embeddings().weight.detach().to(self._dtype)
        for module_name, module in self.model.named_modules():
            if module_name.endswith("base_layer"):
                module.weight.data = module.weight.data.to(self._dtype)

    @property
    def parameters(self) -> list[torch.nn.Parameter]:
        """The adapter's, in a fixed order."""
        return [parameter for parameter in self.model.parameters() if parameter.requires_grad]

    def losses(self, example: Example) -> torch.Tensor:
        """float[answer]: the answer tokens' cross entropies; the head sees their positions alone."""
        ids = torch.tensor([example.ids])
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self._dtype == torch.bfloat16):
            # A single row without padding: causal attention needs no mask.
            hidden = self._decoder(input_ids=ids, use_cache=False).last_hidden_state[0, -example.answer - 1 : -1]
            logits = functional.linear(hidden.to(self._dtype), self._head)
        return functional.cross_entropy(logits.float(), ids[0, -example.answer :], reduction="none")

    def gradient(self, example: Example, weight: float, total: float) -> tuple[float, tuple[torch.Tensor, ...]]:
        """This example's part of a batch's mean loss and its gradient; from any thread.

        weight: of a decided token, where a copied one weighs 1; total: the weight of the batch.
        """
        loss = self.losses(example).dot(weights(example, weight)) / total
        return loss.item(), torch.autograd.grad(loss, self.parameters)

    def save(self, folder: Path, dtype: torch.dtype = torch.float32) -> None:
        """Write the adapter in peft's format."""
        self.model.save_pretrained(str(folder))
        if dtype != torch.float32:
            weights = load_file(folder / _WEIGHTS)
            save_file({name: tensor.to(dtype) for name, tensor in weights.items()}, folder / _WEIGHTS, {"format": "pt"})
        (folder / "README.md").unlink(missing_ok=True)
        config = json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
        (folder / _CONFIG).write_text(
            json.dumps(config | {"base_model_name_or_path": self._name}, indent=2) + "\n", encoding="utf-8"
        )

    def load(self, folder: Path) -> None:
        """Take the adapter's weights from a folder that `save` wrote. Raises ValueError if they are others'."""
        weights = {
            name.removesuffix(".weight") + ".default.weight": tensor
            for name, tensor in load_file(folder / _WEIGHTS).items()
        }
        missing = self.model.load_state_dict(weights, strict=False)
        if missing.unexpected_keys:
            raise ValueError(f"{folder} holds an adapter for other layers: {missing.unexpected_keys[:3]}")


def weights(example: Example, weight: float) -> torch.Tensor:
    """float[answer]: `weight` for decided tokens, 1 for copied ones."""
    found = torch.ones(example.answer)
    found[sorted(example.decided)] = weight
    return found


def fastest_precision() -> str:
    """bfloat16 where a product in it takes less than 0.8 of float32's time, else float32."""
    seconds = {dtype: _product_seconds(dtype) for dtype in (torch.float32, torch.bfloat16)}
    return "bfloat16" if seconds[torch.bfloat16] < 0.8 * seconds[torch.float32] else "float32"


def _product_seconds(dtype: torch.dtype) -> float:
    rows, matrix = torch.randn(512, 576).to(dtype), torch.randn(1536, 576).to(dtype)
    best = float("inf")
    for _ in range(20):
        begin = time.perf_counter()
        functional.linear(rows, matrix)
        best = min(best, time.perf_counter() - begin)
    return best
