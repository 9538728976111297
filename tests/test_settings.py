"""Five layers and how far each is trusted (S1, S2, S5)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memdir.errors import SettingsError
from memdir.layout import Layout
from memdir.settings import OPTIONS, Environment, Settings, load_settings, memory_root


class Layers:
    """Writes settings files of each layer and loads them."""

    def __init__(self, tmp_path: Path, project: Path) -> None:
        self.environment: dict[str, str] = {"MEMDIR_HOME": str(tmp_path / "home"), "HOME": str(tmp_path / "user-home")}
        self.layout = Layout(str(tmp_path / "home"), str(project))
        self.managed = tmp_path / "managed.json"
        self.paths = {
            "managed": self.managed,
            "local": Path(self.layout.local_settings),
            "user": Path(self.layout.user_settings),
            "project": Path(self.layout.project_settings),
        }

    def write(self, layer: str, content: object) -> None:
        path = self.paths[layer]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    def load(self, flags: dict[str, str] | None = None, *, bare: bool = False) -> Settings:
        environment = Environment(self.environment, bare=bare)
        return load_settings(environment, self.layout, flags=flags, managed_path=str(self.managed))

    def root(self) -> str:
        return memory_root(Environment(self.environment), self.load(), self.layout)


@pytest.fixture
def layers(tmp_path: Path, project: Path) -> Layers:
    return Layers(tmp_path, project)


def test_without_any_file_everything_is_default_and_memory_is_on(layers: Layers) -> None:
    settings = layers.load()
    assert settings.enabled
    assert settings.origins == {}
    assert [settings.value(option) for option in OPTIONS] == [option.default for option in OPTIONS]


def test_the_strongest_layer_wins(layers: Layers) -> None:
    layers.write("project", {"skipIndex": True})
    layers.write("user", {"skipIndex": False})
    assert not layers.load().skip_index
    for layer, size in (("user", 2), ("local", 3)):
        layers.write(layer, {"eventLogMaxBytes": size})
        settings = layers.load()
        assert (settings.event_log_max_bytes, settings.origins["eventLogMaxBytes"]) == (size, layer)
    settings = layers.load({"eventLogMaxBytes": "4"})
    assert (settings.event_log_max_bytes, settings.origins["eventLogMaxBytes"]) == (4, "flags")
    layers.write("managed", {"eventLogMaxBytes": 5})
    assert layers.load({"eventLogMaxBytes": "4"}).event_log_max_bytes == 5


_ANY_VALUE = {"bool": (True, False), "int": (0, 1, 7), "text": ("x",), "path": ("~/.ssh", "/etc")}


def _every_value() -> list[tuple[str, object]]:
    values = [(option, value) for option in OPTIONS for value in (*_ANY_VALUE.get(option.kind, ()), *option.choices)]
    return [(option.name, value) for option, value in values]


def test_a_repository_may_switch_off_and_drop_the_index_and_nothing_else(layers: Layers) -> None:
    """S2: every setting with every kind of value, in both spellings."""
    allowed = {("memoryEnabled", False), ("dreamEnabled", False), ("skipIndex", True), ("skipIndex", False)}
    tried = _every_value()
    assert len(tried) > 40
    for name, value in tried:
        section, dot, rest = name.partition(".")
        for content in ({name: value}, {section: {rest: value}} if dot else {name: value}):
            layers.write("project", content)
            settings = layers.load()
            is_allowed = (name, value) in allowed and isinstance(value, bool)
            assert (name in settings.origins) == is_allowed, (name, value)
            if not is_allowed:
                [refusal] = settings.refused
                assert (refusal.name, refusal.layer) == (name, "project")
                assert "repository" in refusal.reason


def test_what_is_refused_costs_the_rest_of_the_file_nothing(layers: Layers) -> None:
    layers.write("project", {"memoryDirectory": "~/.ssh", "memoryEnabled": True, "dreamEnabled": 0, "skipIndex": True})
    settings = layers.load()
    assert settings.skip_index
    assert {refusal.name for refusal in settings.refused} == {"memoryDirectory", "memoryEnabled", "dreamEnabled"}
    assert layers.root() == layers.layout.default_memory


def test_where_memory_lies_first_match_wins(layers: Layers, tmp_path: Path) -> None:
    """S1."""
    assert layers.root() == layers.layout.default_memory
    layers.write("user", {"memoryDirectory": "~/mine"})
    assert layers.root() == os.path.join(os.environ["HOME"], "mine")
    layers.environment["MEMDIR_DIRECTORY"] = str(tmp_path / "e\u0301tude")
    assert layers.root() == str(tmp_path / "étude"), "NFC-normalised"


def test_relative_places_are_refused(layers: Layers) -> None:
    layers.write("user", {"memoryDirectory": "memories"})
    with pytest.raises(SettingsError, match="absolute"):
        layers.load()
    with pytest.raises(SettingsError, match="full path"):
        Environment({"MEMDIR_DIRECTORY": "memories"})


@pytest.mark.parametrize(
    ("variables", "bare", "reason"),
    [
        ({"MEMDIR_DISABLE": "1"}, True, "MEMDIR_DISABLE"),
        ({}, True, "--bare"),
        ({"MEMDIR_REMOTE": "1"}, False, "remote"),
        ({"MEMDIR_DISABLE": "0", "MEMDIR_REMOTE": "false"}, False, ""),
        ({"MEMDIR_REMOTE": "1", "MEMDIR_REMOTE_STORAGE": "/mnt/kept"}, False, ""),
    ],
)
def test_on_or_off_first_match_wins(layers: Layers, variables: dict[str, str], bare: bool, reason: str) -> None:
    """S5."""
    layers.environment |= variables
    settings = layers.load(bare=bare)
    assert settings.enabled == (not reason)
    assert reason in settings.off_because


def test_the_setting_turns_memory_off_and_remote_storage_is_a_home(layers: Layers) -> None:
    layers.write("local", {"memoryEnabled": False})
    assert "local settings" in layers.load().off_because
    variables = {"MEMDIR_REMOTE": "1", "MEMDIR_REMOTE_STORAGE": "/mnt/kept"}
    assert Environment(variables).home == "/mnt/kept"


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"skipIndex": 1}', '{"eventLogMaxBytes": "many"}', '{"worktrees": "all"}', "\udc00"]
)
def test_a_broken_file_of_the_user_s_is_an_error_that_names_it(layers: Layers, content: str) -> None:
    path = layers.paths["user"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(SettingsError, match=r"settings\.json"):
        layers.load()


@pytest.mark.parametrize("content", ["{", "[]", '{"skipIndex": 1}', "[" * 100_000, " " * (1 << 20) + "{}"])
def test_a_broken_file_of_a_repository_is_reported_and_not_used(layers: Layers, content: str) -> None:
    layers.write("project", content)
    settings = layers.load()
    assert len(settings.refused) == 1
    assert not settings.skip_index


def test_unknown_settings_are_reported_with_the_nearest_name(layers: Layers) -> None:
    layers.write("user", {"memoryEnable": False})
    [refusal] = layers.load().refused
    assert "memoryEnabled" in refusal.reason
    with pytest.raises(SettingsError, match="skipIndex"):
        layers.load({"skipIndx": "true"})


def test_nested_objects_and_dotted_names_say_the_same(layers: Layers) -> None:
    layers.write("user", '\ufeff{"unknown": {"inner": 1}}')
    assert [refusal.name for refusal in layers.load().refused] == ["unknown.inner"]


def test_settings_are_frozen(layers: Layers) -> None:
    with pytest.raises(AttributeError, match="frozen"):
        layers.load().skip_index = True


def test_every_option_is_declared_as_an_attribute() -> None:
    declared = {
        name
        for name in Settings.__annotations__
        if name not in ("enabled", "off_because", "origins", "refused", "turn_on")
    }
    assert declared == {option.attribute for option in OPTIONS}


ANOTHERS = {
    "claude": '{"permissions": {"allow": ["Bash(ls)"]}, "model": "opus", "env": {"DEBUG": "1"}}',
    "qwen": '{"model": {"name": "qwen3-coder-plus"}, "security": {"auth": {"selectedType": "oauth"}}}',
    "unheard of": '{"colours": "bright", "keymap": {"quit": "q"}}',
    "one name": '{"theme": "dark"}',
}


@pytest.mark.parametrize("text", ANOTHERS.values(), ids=ANOTHERS)
def test_settings_of_another_agent_are_neither_read_nor_judged(layers: Layers, text: str) -> None:
    """S3: nor is its model taken for ours; what the user wants of memdir stands beside them."""
    layers.write("user", text)
    settings = layers.load()
    assert settings.refused == ()
    assert settings.model_name is None
    Path(layers.layout.settings_beside).write_text('{"skipIndex": true}')
    assert layers.load().skip_index is True


@pytest.mark.parametrize("name", [".claude", ".qwen"])
def test_a_home_that_has_another_agent_s_name_is_that_agent_s(tmp_path: Path, project: Path, name: str) -> None:
    """Whatever stands in its settings, broken or with a name of ours."""
    home = tmp_path / name
    home.mkdir()
    environment = Environment({"MEMDIR_HOME": str(home)})
    for text in ('{"memoryEnabled": false}', "{ // with a comment", '{"model": {"name": "theirs"}}'):
        (home / "settings.json").write_text(text)
        settings = load_settings(environment, Layout(str(home), str(project)), managed_path="")
        assert (settings.enabled, settings.model_name, settings.refused) == (True, None, ())


@pytest.mark.parametrize("text", ['{"memoryEnabled": false, "theme": "dark"}', '{"memoryEnabeld": false, "other": 1}'])
def test_a_file_with_a_name_of_ours_is_ours_and_judged(layers: Layers, text: str) -> None:
    """Off is off, and a typing error is told, whatever stands beside it."""
    layers.write("user", text)
    settings = layers.load()
    assert settings.refused
    assert settings.enabled is ("Enabeld" in text)


def test_settings_that_several_processes_write_at_once_are_all_there(tmp_path: Path) -> None:
    """S13: read, changed and written by one at a time; and nothing else is left beside the file."""
    path = tmp_path / "home" / "settings.json"
    code = (
        "import sys; from memdir.settings_file import put_setting\n"
        "for n in range(20): put_setting(sys.argv[1], f'{sys.argv[2]}.of{n}', n)"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in ("dream", "recall", "extract")
    ]
    assert [one.wait(60) for one in writers] == [0, 0, 0]
    assert len(json.loads(path.read_text(encoding="utf-8"))) == 60
    assert os.listdir(path.parent) == ["settings.json"]
