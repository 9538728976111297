"""A git repository of the team's memories and nothing else: never the local history, in which a secret may live on that
was deleted long ago (E7).

The tree holds the files as they lie in `team/`, so people can read and change it with plain git. Nothing is checked out
here: texts are read from the objects and written by the store, as what any remote sends is.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from itertools import pairwise

from memdir.disk.atomic import delete_file
from memdir.disk.git import Git, is_object_id, object_id, read_batch, write_object
from memdir.disk.git_network import GitNetwork
from memdir.disk.safe_path import is_index, is_key
from memdir.errors import HistoryError, RemoteError
from memdir.events import tell
from memdir.share.remote import GONE, Delta, Manifest, PushResult, Reason, Remote, Room, Version, digest_of

BRANCH = "main"
MARK = "memdir-team.json"  # a file that says that the repository is a team's
MAX_TREE_BYTES = 8 << 20  # of the list of all files, fifty thousand of them: more is no team's memory
_MAX_LOG_BYTES = 32 << 20
_MOST_NAMED = 100  # keys for which git is asked by name: each is compared with each file of each commit
_NAMED = (("literal", ""), ("exclude,literal", "/"))  # the file of a name, and no folder
_LOG_SECONDS = 5.0
_AT_ONCE = 200  # old texts that are read together
_SAVED = re.compile(r"^Saved: (\d+(?:\.\d+)?) (.+\.md)\s*$", re.MULTILINE)  # in a message: when, in seconds, and what
_BY = re.compile(r"^By: ([^<\n]*) < (.+\.md)\s*$", re.MULTILINE)  # and who wrote what another gives again
_MAX_LOG = 10_000  # commits looked through for who wrote what
_PLAIN = ("100644", "100755")
_NONE = "0" * 40
EMPTIED = (
    "{} of the team's {} memories were taken out of the repository at once, and not by memdir: they stay here and are"
    " given back. `memdir forget FILE --scope team` deletes one for all"
)

_KEPT_APART = "the team has a version of it that is larger than a shared memory may be, and is not written over"

Writer = tuple[str, float, bool]  # who saved a memory, when, and whether by memdir
NOBODY: Writer = ("", 0.0, False)
_EMAIL = "memdir@localhost"  # of all commits that are made here
_MAX_NAME = 200  # characters of an author


class GitRemote(Remote):
    """A team in a git repository. `folder` is where its objects lie on this machine."""

    def __init__(self, url: str, folder: str, *, name: str = "", clock: Callable[[], float] = time.time) -> None:
        self._git = Git(folder)
        self._network = GitNetwork(url, self._git.objects)
        self._name = name
        self._clock = clock

    def pull(self, known: Manifest) -> Delta:
        head = self._network.head(BRANCH)
        if head and head == known.revision and os.path.isdir(self._git.objects):
            return Delta(revision=head)
        living = frozenset(key for key, version in known.versions.items() if not version.is_gone)
        if not head:
            return Delta(missing=living)  # an empty repository deletes nothing
        try:
            self._git.create()
            before = known.revision if self._has(known.revision) else ""
            self._git.clear_abandoned()  # what a fetch left that took too long; nobody else is at it
            self._network.fetch(BRANCH, known=before)
            return self._delta(known, before, head, living)
        except HistoryError as error:
            raise RemoteError(f"what was fetched cannot be read: {error.message}", kind="broken") from error

    def _delta(self, known: Manifest, before: str, head: str, living: frozenset[str]) -> Delta:
        blobs, refused = self._listing(head, known)
        texts = self._texts(blobs)
        stray = {key for key in known.strays if key not in texts or digest_of(texts[key]) != known.strays[key]}
        is_later = bool(before) and not self._git.run("rev-list", "--max-count=1", f"{head}..{before}", "--")
        absent = {key for key in living - blobs.keys() if key not in refused}
        replaced = self._replaced(head, {key: known.strays[key] for key in stray})
        gone = absent if is_later else self._replaced(head, {key: known.digest(key) for key in absent})
        gone |= replaced - blobs.keys() - refused.keys()
        changed = {key for key, data in texts.items() if digest_of(data) != known.digest(key) or key in replaced}
        who = self._writers(before if is_later else "", head, changed | gone)
        versions = {key: Version(digest_of(texts[key]), *who.get(key, NOBODY)[:2]) for key in changed}
        by_hand, told = {key for key in gone if not who.get(key, NOBODY)[2]}, ""
        if by_hand & absent and 2 * len(by_hand) >= len(living):
            gone, told = gone - by_hand, EMPTIED.format(len(by_hand & absent), len(living))
        versions |= {key: Version(GONE, *who.get(key, NOBODY)[:2]) for key in gone}
        missing, older = absent - gone, dict[str, Version]()
        if before and not is_later and not self._git.run("rev-list", "--max-count=1", f"{before}..{head}", "--"):
            for key in gone & absent:  # once more before that, and brought back since: it is missing, not deleted
                del versions[key]
                missing.add(key)
            older = {key: versions.pop(key) for key in changed if key in known.versions}  # it was set back
        elif not is_later:
            ours = {key: known.digest(key) for key in changed if known.digest(key)}
            missing |= ours.keys() - self._replaced(head, ours)  # what is known of these was never in this history
        sent = {key: texts[key] for key in changed}
        return Delta(versions, sent, head, frozenset(missing), older, replaced, refused, told=told)

    def _replaced(self, head: str, digests: Mapping[str, str]) -> set[str]:
        """Those of these texts that once stood in the repository under their keys, and do no more. Of others than these
        a history that does not go on from ours changes or deletes nothing."""
        stood = {
            f"{told.split()[2]} {key}": told.split()[2]
            for told, key in pairwise(self._log(head, digests, "--raw", "--no-abbrev", "--format="))
            if key in digests and told.lstrip("\n").startswith(":") and _NONE not in told.split()[2]
        }
        asked = "".join(f"{name}\n" for name in stood.values()).encode("ascii")
        sizes = self._git.run("cat-file", "--batch-check=%(objectsize)", stdin=asked).split() if stood else []
        most = self.caps.entry_bytes  # of one: what never was a memory is not read, and not all at once of what was
        fitting = [one for one, size in zip(stood, map(int, sizes), strict=True) if size <= most]
        found: set[str] = set()
        for some in (fitting[at : at + _AT_ONCE] for at in range(0, len(fitting), _AT_ONCE)):
            texts = self._texts({name: stood[name] for name in some})
            found |= {name[41:] for name, data in texts.items() if digest_of(data) == digests[name[41:]]}
        return found

    def push(self, delta: Delta, *, expected: Manifest) -> PushResult:
        parent = expected.revision
        clashes = PushResult(refused=dict.fromkeys(delta.versions, "conflict"), revision=parent)
        try:
            self._git.create()
            if parent and not self._has(parent):
                return clashes
            fitting, refused = self._fitting(delta, expected)
            told = {key: _KEPT_APART for key, reason in refused.items() if reason != "conflict"}
            if not fitting:
                return PushResult({}, refused, parent, told)
            commit = self._commit(fitting, delta.texts, parent)
        except HistoryError as error:
            raise RemoteError(f"the change cannot be put together: {error.message}", kind="broken") from error
        if not self._network.push(commit, BRANCH, parent):
            return clashes
        return PushResult(fitting, refused, commit, told)

    def _fitting(self, delta: Delta, expected: Manifest) -> tuple[dict[str, Version], dict[str, Reason]]:
        """The versions whose keys stand in the tree as they are expected to or as they are to be, or are a link there;
        and why the others do not fit."""
        blobs, unread = self._listing(expected.revision, expected) if expected.revision else ({}, {})
        wanted = {key: blobs[key] for key in blobs.keys() & delta.versions.keys()}
        stand = {key: digest_of(data) for key, data in self._texts(wanted).items()}
        stand |= {key: expected.digest(key) for key, why in unread.items() if why == "path"}
        stand |= {key: "unread" for key, why in unread.items() if why != "path"}
        new = delta.versions.items()
        fitting = {key: one for key, one in new if stand.get(key, GONE) in (expected.digest(key), one.digest)}
        return fitting, {key: unread.get(key, "conflict") for key, _ in new if key not in fitting}

    def create(self) -> bool:
        """See that the repository is there, and is a team's own: an empty one, one that memdir began, or one that says
        so by its mark. RemoteError where other things lie in it: no team's memories are put among them. Gives
        whether it is empty."""
        branches = self._network.branches()
        if not branches:
            return True
        try:
            self._git.create()
            if BRANCH in branches and self._is_ours(self._network.head(BRANCH)):
                return False
        except HistoryError as error:
            raise RemoteError(f"what was fetched cannot be read: {error.message}", kind="broken") from error
        remedy = f"Make an empty repository for the team, without a README; or put {MARK} into this one by git"
        raise RemoteError("that repository holds other things than a team's memories", kind="broken", remedy=remedy)

    def _is_ours(self, head: str) -> bool:
        self._network.fetch(BRANCH, known="")
        if self._git.run("ls-tree", "--full-tree", head, "--", MARK):
            return True
        begun = self._git.run("log", "--format=%ce", "--max-parents=0", "--no-show-signature", head, "--").split()
        return bool(begun) and all(one == _EMAIL.encode() for one in begun)

    # Objects

    def _has(self, commit: str) -> bool:
        return bool(commit) and self._git.run("cat-file", "-t", commit, accept=(0, 128)) == b"commit\n"

    def _listing(self, commit: str, known: Manifest) -> tuple[dict[str, str], dict[str, Reason]]:
        """The objects of the memories in a tree by key, and what is none, or too much. Other files are theirs."""
        blobs: dict[str, str] = {}
        refused: dict[str, Reason] = {}
        listed = self._git.run("ls-tree", "-r", "-z", "-l", "--full-tree", commit, max_bytes=MAX_TREE_BYTES)
        if len(listed) >= MAX_TREE_BYTES:
            raise RemoteError("the repository holds more files than a team's memory does", kind="broken")
        parted = (row.partition(b"\t") for row in listed.split(b"\0"))
        rows = {path.decode("utf-8", "replace"): told for told, _, path in parted}
        room = Room(self.caps, times=2)
        for key in sorted(rows, key=lambda one: (not known.digest(one), one)):
            if not key.endswith(".md") or is_index(key):
                continue
            mode, _, name, size = rows[key].decode("ascii", "replace").split()
            fault = room.fault_of(key, int(size)) if mode in _PLAIN and size.isdecimal() and is_key(key) else "path"
            if fault:
                refused[key] = fault
            else:
                blobs[key] = name
        return blobs, refused

    def _texts(self, blobs: Mapping[str, str]) -> dict[str, bytes]:
        if not blobs:
            return {}
        asked = "".join(f"{name}\n" for name in blobs.values()).encode("ascii")
        found = zip(blobs, read_batch(self._git.run("cat-file", "--batch", stdin=asked)), strict=True)
        return {key: data for key, (kind, data) in found if kind == b"blob" and object_id("blob", data) == blobs[key]}

    def _writers(self, before: str, head: str, keys: set[str]) -> dict[str, Writer]:
        """Who changed each of these last, when it was saved, and whether by memdir."""
        found: dict[str, Writer] = {}
        wanted = f"{before}..{head}" if before else head
        told = self._log(wanted, keys, "--format=%H%x00%an%x00%at%x00%B%x00", "--name-only")
        words = (word.lstrip("\n") for word in told)
        author, when, saved, wrote = "", "", dict[str, float](), dict[str, str]()
        for word in words:
            if is_object_id(word):
                author, when, message = (next(words, "") for _ in range(3))
                saved = {key: float(seconds) for seconds, key in _SAVED.findall(message)}
                wrote = {key: name for name, key in _BY.findall(message)}
            elif word in keys and word not in found:
                moment = saved.get(word, float(when) if when.isdecimal() else 0.0)
                found[word] = (wrote.get(word, author)[:_MAX_NAME], min(moment, self._clock()), word in saved)
        return found

    def _log(self, commits: str, keys: Collection[str], *options: str) -> list[str]:
        """The log of these keys. A commit may hold any number of other files, and folders that are named like a key:
        those are not looked into. Many keys are found faster in the log of all files, where that is soon read."""
        form = ("--no-literal-pathspecs", "log", "-z", *options, "--no-renames", "--no-show-signature")
        form += ("--full-history", f"--max-count={_MAX_LOG}", commits, "--")
        if len(keys) > _MOST_NAMED:
            with suppress(HistoryError):
                output = self._git.run(*form, max_bytes=_MAX_LOG_BYTES, seconds=_LOG_SECONDS)
                if len(output) < _MAX_LOG_BYTES:
                    return output.decode("utf-8", "replace").split("\0")
        words, named = list[str](), sorted(keys)
        for some in (named[at : at + _MOST_NAMED] for at in range(0, len(named), _MOST_NAMED)):
            paths = [f":({how}){key}{end}" for how, end in _NAMED for key in some]
            words += self._git.run(*form, *paths, max_bytes=_MAX_LOG_BYTES).decode("utf-8", "replace").split("\0")
        return words

    def _commit(self, versions: Mapping[str, Version], texts: Mapping[str, bytes], parent: str) -> str:
        """A commit with these versions on top of another; what else stands in its tree stays."""
        lines = []
        for done, (key, version) in enumerate(versions.items(), 1):
            tell(self.on_progress, done, len(versions))
            blob = _NONE if version.is_gone else write_object(self._git.objects, "blob", texts[key])
            lines.append(f"{'0' if version.is_gone else '100644'} {blob}\t{key}\0")
        index = os.path.join(self._git.folder, f"index.{os.getpid()}")
        try:
            if parent:
                self._git.run("read-tree", parent, index=index)
            self._git.run("update-index", "-z", "--index-info", stdin="".join(lines).encode(), index=index)
            tree = self._git.run("write-tree", index=index).decode("ascii").strip()
        finally:
            delete_file(index)
        return write_object(self._git.objects, "commit", self._told(versions, tree, parent))

    def _told(self, versions: Mapping[str, Version], tree: str, parent: str) -> bytes:
        name = " ".join("".join(c for c in self._name if c.isprintable() and c not in "<>").split()) or "somebody"
        who = f"{name} <{_EMAIL}> {int(max(self._clock(), 0))} +0000"
        keys = sorted(versions)
        more = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
        saved = [f"Saved: {version.saved:.3f} {key}" for key, version in sorted(versions.items())]
        saved += [f"By: {versions[key].author} < {key}" for key in keys if versions[key].author != self._name]
        head = [f"tree {tree}", *([f"parent {parent}"] if parent else []), f"author {who}", f"committer {who}"]
        return "\n".join([*head, "", f"{', '.join(keys[:3])}{more}", "", *saved, ""]).encode()
