"""LoRA adapters (Hu et al. 2021) in peft's format: found, named, and merged into a model's weights."""

from __future__ import annotations

import hashlib
import warnings
from importlib.resources import files
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from redraft.errors import ModelRefused

NONE = "none"
"""`--adapter none`: the model as it comes."""

DEMO_ADAPTER_NAME = "demo-edits"
_CONFIG, _WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


def demo_adapter() -> Path | None:
    """The folder of the demo's own adapter, which is package data; None: this installation has none."""
    folder = Path(str(files("redraft.model") / "data" / DEMO_ADAPTER_NAME))
    return folder if (folder / _CONFIG).is_file() else None


def adapter_folder(name: str) -> Path:
    """The folder of an adapter that a user names. Raises ModelRefused where it holds none."""
    folder = Path(name).expanduser()
    missing = [file for file in (_CONFIG, _WEIGHTS) if not (folder / file).is_file()]
    if missing:
        raise ModelRefused(f"{name}: no LoRA adapter in peft's format there ({' and '.join(missing)} missing)")
    return folder


def fingerprint(folder: Path) -> str:
    """Changes whenever the adapter does."""
    digest = hashlib.sha256()
    for file in (_CONFIG, _WEIGHTS):
        digest.update((folder / file).read_bytes())
    return digest.hexdigest()[:12]


def merged(model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    """The model with the adapter's low-rank products added to its weights. Raises ModelRefused if they do not fit."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # peft asks transformers by a name that is going
            return _merged(model, folder)
    except (RuntimeError, ValueError, KeyError, TypeError) as error:
        raise ModelRefused(f"{folder}: the adapter does not fit this model: {str(error).splitlines()[0]}") from error


def _merged(model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    from peft import PeftConfig, get_peft_model, load_peft_weights, set_peft_model_state_dict  # a second to import

    adapted = get_peft_model(model, PeftConfig.from_pretrained(str(folder)))
    result: Any = set_peft_model_state_dict(adapted, load_peft_weights(str(folder), device="cpu"))
    # peft itself applies what fits and is silent about the rest.
    missing = [key for key in result.missing_keys if "lora_" in key]
    if result.unexpected_keys or missing:
        raise ValueError(f"{len(result.unexpected_keys)} weights too many, {len(missing)} missing")
    model_with_it: PreTrainedModel = adapted.merge_and_unload()
    return model_with_it
