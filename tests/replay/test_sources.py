"""A person's own pairs: two folders, and the versions of a file in git."""

from __future__ import annotations

import subprocess

import pytest
from redraft.replay.sources import folder_pairs, git_pairs


def write(folder, **files):
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def test_files_with_the_same_path_are_pairs(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    write(
        old, b_md="one\r\n", sub__a_txt="été", only_txt="x", same_txt="s", bin_txt=b"a\0b", raw_txt=b"\xe9", noend="1"
    )
    write(new, b_md="two", sub__a_txt="hiver", new_txt="x", same_txt="s", bin_txt=b"a\0c", raw_txt="x", noend="2")
    write(old, **{"_git__config": "a"})
    write(new, **{"_git__config": "b"})
    own = folder_pairs(old, new)
    found = [(pair.id, pair.before, pair.after, pair.kind) for pair in own.pairs]
    assert found == [("b.md", "one\r\n", "two", "md"), ("noend", "1", "2", ""), ("sub/a.txt", "été", "hiver", "txt")]
    assert (own.unchanged, own.unreadable) == (1, 2)


def test_folders_without_a_common_file_are_named(tmp_path):
    write(tmp_path / "old", a_txt="1")
    write(tmp_path / "new", b_txt="1")
    with pytest.raises(ValueError, match="no file at the same relative path"):
        folder_pairs(tmp_path / "old", tmp_path / "new")
    with pytest.raises(ValueError, match=r"nowhere is not a folder"):
        folder_pairs(tmp_path / "nowhere", tmp_path / "new")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """a.txt with three versions, renamed to `sub/b ü.txt`, changed on a branch that is merged, changed again."""
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "n")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "n@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "none"))
    folder = tmp_path / "repository"
    folder.mkdir()

    def git(*arguments):
        subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)

    def commit(file, content):
        (folder / file).write_bytes(content)
        git("add", "-A")
        git("commit", "-m", "change")

    lines = b"".join(b"line %d of a file that is long enough to be known again\n" % number for number in range(20))
    git("init", "-b", "main")
    for version in (b"1", b"2", b"3"):
        commit("a.txt", lines + version)
    commit("other.txt", b"other")
    git("tag", "renaming")
    (folder / "sub").mkdir()
    git("mv", "a.txt", "sub/b ü.txt")
    git("commit", "-m", "rename")
    git("checkout", "-b", "side")
    for version in (b"4", b"5"):
        commit("sub/b ü.txt", lines + version)
    git("checkout", "main")
    commit("other.txt", b"another")
    git("merge", "side")
    commit("sub/b ü.txt", lines + b"6")
    return folder


def versions(own):
    return [(pair.before[-1], pair.after[-1]) for pair in own.pairs]


def test_successive_versions_of_a_file_are_pairs(repository):
    own = git_pairs(repository, "sub/b ü.txt")
    assert versions(own) == [("1", "2"), ("2", "3"), ("3", "5"), ("5", "6")]
    assert own.unchanged == 1  # the renaming
    assert all(pair.kind == "txt" and pair.id.endswith(":sub/b ü.txt") for pair in own.pairs)
    assert len({pair.id for pair in own.pairs}) == 4


def test_revisions_may_be_a_range_and_the_folder_a_part_of_the_repository(repository):
    assert versions(git_pairs(repository, "sub/b ü.txt", "renaming..HEAD")) == [("3", "5"), ("5", "6")]
    assert versions(git_pairs(repository / "sub", "b ü.txt", "HEAD~1")) == [("1", "2"), ("2", "3"), ("3", "5")]


def test_a_persons_git_configuration_changes_nothing(repository, tmp_path):
    (tmp_path / "none").write_text("[color]\nui = always\n[log]\nshowSignature = true\ndecorate = full\n")
    assert len(git_pairs(repository, "sub/b ü.txt").pairs) == 4


@pytest.mark.parametrize(
    ("file", "revisions", "message"),
    [
        ("other.md", "HEAD", "other.md has no two versions in HEAD"),
        ("a.txt", "nowhere..HEAD", "git log in .*nowhere"),
        ("a.txt", "--output=x", "'--output=x' names no revisions"),
    ],
)
def test_what_git_cannot_give_is_named(repository, file, revisions, message):
    with pytest.raises(ValueError, match=message):
        git_pairs(repository, file, revisions)


def test_a_folder_outside_git_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(ValueError, match="not a git repository"):
        git_pairs(tmp_path, "a.txt")


def test_a_missing_git_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="git is not installed"):
        git_pairs(tmp_path, "a.txt")
