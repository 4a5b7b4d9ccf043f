"""One frozen configuration: defaults, then a TOML file, then REDRAFT_* variables, then flags."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import tomlkit
from platformdirs import user_config_path
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from rapidfuzz import process

_FROZEN = ConfigDict(frozen=True, extra="forbid")


class ConfigError(ValueError):
    """A configuration that cannot be used; the message names the key."""


class Serve(BaseModel):
    """Where and how long to serve."""

    model_config = _FROZEN

    listen: str = Field("127.0.0.1:50551", description="host:port on loopback; port 0 picks a free one")
    socket: Path | None = Field(None, description="Unix socket; the default one if unset")
    use_socket: bool = Field(True, description="whether to listen on a Unix socket, too")
    max_message_bytes: int = Field(16 << 20, gt=0, description="largest message taken or sent")
    grace: float = Field(30.0, ge=0, description="seconds that running edits get when the server stops")


class Model(BaseModel):
    """What to serve."""

    model_config = _FROZEN

    name: str = Field(
        "demo", description="demo, a GGUF file, a local folder, a hub id, or scripted:PAIRS.jsonl[,MODEL]"
    )
    device: str = Field("auto", description="auto, cpu or cuda")
    dtype: Literal["float32", "bfloat16", "float16"] | None = Field(None, description="by device if unset")
    threads: int | None = Field(None, gt=0, description="CPU threads of one pass")
    kv_bytes: int | None = Field(None, gt=0, description="memory for keys and values; a share of what is free if unset")
    prompt_template: Path | None = Field(None, description="a Jinja chat template for a model that has none")
    adapter: str | None = Field(
        None, description="folder of a LoRA in peft's format, or none; the demo has one of its own"
    )
    draft_model: str | None = Field(
        None,
        description="a small model that fills what the document has not: a folder, hub id or GGUF file, or early-exit, "
        "the model's own first layers",
    )
    trust_remote_code: bool = Field(False, description="whether a hub model may run code of its own")


class Engine(BaseModel):
    """How many edits at once."""

    model_config = _FROZEN

    max_running: int = Field(8, gt=0, description="edits in one pass")
    max_waiting: int = Field(64, gt=0, description="edits that may queue")
    prefill_tokens: int = Field(512, gt=0, description="prompt tokens that one pass takes")


class Settings(BaseSettings):
    """Everything `redraft serve` can be told."""

    model_config = SettingsConfigDict(
        env_prefix="REDRAFT_",
        env_nested_delimiter="__",
        frozen=True,
        extra="ignore",
        nested_model_default_partial_update=True,
    )

    serve: Serve = Serve()
    model: Model = Model()
    engine: Engine = Engine()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Variables win over the file, which comes in as initial values."""
        return env_settings, init_settings


def default_file() -> Path:
    """The configuration file that is read if none is named."""
    return user_config_path("redraft") / "redraft.toml"


def load_settings(file: Path | None = None, flags: Mapping[str, Mapping[str, Any]] | None = None) -> Settings:
    """Settings from a TOML file (the default one may be missing), the environment and flags, the last winning.

    flags: section -> option -> value; None means: not given. Raises ConfigError.
    """
    values = _read(file)
    _refuse_unknown(values)
    try:
        base = Settings(**values)
        return Settings.model_validate(_merged(base.model_dump(), flags or {}))
    except ValidationError as error:
        raise ConfigError("; ".join(_messages(error))) from None


def print_settings(settings: Settings) -> str:
    """The settings as a TOML file that says what each option is."""
    document = tomlkit.document()
    for name, section in settings:
        table = tomlkit.table()
        for option, field in type(section).model_fields.items():
            value = getattr(section, option)
            line = f"{option}: {field.description}"
            table.add(tomlkit.comment(line if value is not None else f"{line} (unset)"))
            if value is not None:
                table.add(option, str(value) if isinstance(value, Path) else value)
        document.add(name, table)
    return tomlkit.dumps(document)


def _read(file: Path | None) -> dict[str, Any]:
    path = file or default_file()
    if file is None and not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None


def _refuse_unknown(values: Mapping[str, Any]) -> None:
    _check_names(values, Settings.model_fields, "")
    for name, section in values.items():
        if not isinstance(section, Mapping):
            raise ConfigError(f"{name} is a section: write [{name}]")
        fields = getattr(Settings.model_fields[name].annotation, "model_fields", {})
        _check_names(section, fields, f"{name}.")


def _check_names(values: Mapping[str, Any], known: Mapping[str, Any], prefix: str) -> None:
    for name in values:
        if name not in known:
            near = process.extractOne(name, list(known), score_cutoff=60)
            hint = f"; did you mean {prefix}{near[0]}?" if near else f"; known: {', '.join(known)}"
            raise ConfigError(f"unknown key {prefix}{name}{hint}")


def _merged(values: dict[str, Any], flags: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    for section, options in flags.items():
        given = {name: value for name, value in options.items() if value is not None}
        values[section] = values[section] | given
    return values


def _messages(error: ValidationError) -> Iterator[str]:
    for detail in error.errors():
        yield f"{'.'.join(map(str, detail['loc']))}: {detail['msg']}"
