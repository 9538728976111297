"""A magic doc: a Markdown file of the project whose first line says that agents keep it up to date (M1, M3).

It is the person's file, in a folder that a stranger may have filled. So it is read and written with no link followed,
only where it still holds what was read, and what stood in it before and after is kept in a history of its own: the
store of scope `docs`, whose memories are copies of such files.
"""

from __future__ import annotations

import glob
import itertools
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass

from memdir.disk.atomic import abandoned_temporaries, delete_file, disk_error, flush_folder
from memdir.disk.git import object_id, read_object
from memdir.disk.held_folder import held_folder
from memdir.disk.plain_file import NotPlain, TooLarge, read_if_plain, read_with_status
from memdir.disk.replace_file import replace_file
from memdir.disk.safe_path import check_key, is_inside
from memdir.errors import BadMemoryFile, EditConflict, MemoryNotFound, PathEscape
from memdir.store.form import unspoilt
from memdir.store.history import OUTSIDE, Commit, Origin
from memdir.store.secrets.refuse import refuse_secrets
from memdir.store.store import ChangeSet, MemoryStore
from memdir.store.undo import Undone, named_change, require_history, restore, standing, undo
from memdir.text.words import split_words

UPDATED = "doc"  # the source of a change that brought a doc up to date
MAX_DOC_BYTES = 40_000  # what a model reads in one go, line numbers included
MIN_KEPT = 0.5  # of a doc's words that an update keeps: a model that leaves out the rest means "as before"
_MAX_FOLDERS = 200  # that are hidden, in which a link is looked for
FEW_WORDS = 40  # a shorter doc may be rewritten
_BOM = b"\xef\xbb\xbf"
_HEADER = re.compile(rb"#[ \t]+MAGIC DOC:[ \t]*(?P<title>\S[^\r\n]*)(?:\r?\n|\Z)", re.IGNORECASE)
_ITALICS = re.compile(
    rb"(?:[ \t]*\r?\n)?[ \t]*(?P<mark>[_*])(?![_*\s])(?P<text>[^\r\n]*[^\s_*])(?P=mark)[ \t]*(?:\r?\n|\Z)"
)
# What agents and tools obey for its folder or its name; of what is hidden, all but what only tells files to leave out.
OBEYED = re.compile(
    r"(?:.*/)?(?:\.(?![^/]*ignore\Z|editorconfig\Z|gitkeep\Z).*"
    r"|(?:agents|chatmodes|commands|instructions|microagents|output-styles|prompts|rules|skills|steering|subagents)/"
    r"(?:.*\.(?:mdc?|txt)|(?:.*/)?[^/.]+)"
    r"|(?:agents?|amp|claude|codex|conventions|copilot|crush|cursor|gemini|goose|instructions|opencode|prompts?|qwen"
    r"|replit|rules|skill|warp|windsurf)\.(?:[^/]*\.)?md"
    r"|[^/]*\.(?:agent|chatmode|instructions|mode|prompt|rules)\.md)"
)
_OUTSIDE_REMEDY = "A magic doc is a plain file of the project, reached by no link"


@dataclass(frozen=True)
class MagicDoc:
    """A magic doc as it was read: its key is its path below the project."""

    key: str  # its path below the project, with `/`
    path: str  # where it lies
    text: bytes  # all of it
    head: bytes  # header and instruction line, which nobody but a person changes
    title: str  # what it calls itself
    instruction: str  # what its author wants in it; a stranger's words, where the project is a stranger's

    @staticmethod
    def parse(text: bytes, key: str = "", path: str = "") -> MagicDoc | None:
        """A text as a magic doc; None where it is none."""
        start = len(_BOM) if text.startswith(_BOM) else 0
        header = _HEADER.match(text, start)
        if header is None or b"\0" in text:
            return None
        wish = _ITALICS.match(text, header.end())
        try:
            text.decode("utf-8")
        except UnicodeDecodeError:
            return None
        told = (header["title"], wish["text"] if wish else b"")
        title, instruction = (part.decode("utf-8").strip() for part in told)
        return MagicDoc(key, path, text, text[: (wish or header).end()], title, instruction)

    def completed(self, draft: bytes) -> bytes:
        """What a model wrote, with header and instruction line as they are, and this file's line endings.
        BadMemoryFile where it cannot be an update of this doc."""
        body = self._body_of(_ended_like(self.text, draft))
        after = self.head + (b"" if self.head.endswith(b"\n") else b"\n") + body
        written = MagicDoc.parse(after)
        if written is None:
            raise BadMemoryFile("the document would be no text any more", remedy="Write plain Markdown")
        if written.head.rstrip() != self.head.rstrip():
            raise BadMemoryFile(
                "the line in italics below the header belongs to the author of the document",
                remedy="Begin with a heading or a plain line",
            )
        self._require_whole(body)
        if len(after) > MAX_DOC_BYTES:
            raise BadMemoryFile(f"the document would have {len(after):,} bytes", remedy="Keep the point, drop the rest")
        refuse_secrets(self.key, after, self.text, scope="docs")
        return after

    def _body_of(self, draft: bytes) -> bytes:
        """The text below header and instruction line, in whatever form a model left those: changed, twice, in a fence;
        ended as the text was."""
        rest = unspoilt(draft.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape").removeprefix(_BOM)
        while len(below := self._below_head(rest)) < len(rest):
            rest = below
        ending = b"\r\n" if b"\r\n" in self.text else b"\n"
        return rest + ending if self.text.endswith(b"\n") and rest and not rest.endswith(b"\n") else rest

    def _below_head(self, draft: bytes) -> bytes:
        header = _HEADER.match(draft.lstrip())
        rest = draft.lstrip()[header.end() :] if header else draft
        wish = _ITALICS.match(rest) if self.instruction else None
        is_ours = wish is not None and wish[0].strip() in self.text[len(self.head) :]  # a line of the document itself
        return rest[wish.end() :] if wish and not is_ours else rest

    def _require_whole(self, body: bytes) -> None:
        before, after = (set(split_words(text.decode("utf-8"))) for text in (self.text[len(self.head) :], body))
        if before and not after:
            raise BadMemoryFile("the document would be empty", remedy="Write all of it, as it should read now")
        if len(before) >= FEW_WORDS and len(before & after) < MIN_KEPT * len(before):
            remedy = "Write all of it, also what stays as it is"
            raise BadMemoryFile("most of what the document says would be gone", remedy=remedy)


def is_obeyed(path: str, root: str) -> bool:
    """Whether agents or tools obey a file of a project: under the name that it is called by, under its own, or under
    that of a link to it or to a folder above it, which stands above it or in what is hidden."""
    top, real, named = os.path.realpath(root), os.path.realpath(path), os.path.normpath(path)
    names = {named.removeprefix(root.rstrip(os.sep) + os.sep).removeprefix(top + os.sep), os.path.relpath(real, top)}
    if any(OBEYED.fullmatch(name.replace(os.sep, "/").replace(" ", "").casefold()) for name in names):
        return True
    folders, hidden = [os.path.dirname(real)], os.path.join(glob.escape(top), ".*", "")
    while is_inside(folders[-1], top) and folders[-1] != top:
        folders.append(os.path.dirname(folders[-1]))
    folders += itertools.islice(itertools.chain(glob.iglob(hidden), glob.iglob(f"{hidden}*{os.sep}")), _MAX_FOLDERS)
    links = (os.path.join(folder, name) for folder in folders for name in _links_in(folder))
    return any(
        OBEYED.fullmatch(os.path.relpath(link, top).replace(os.sep, "/").casefold())
        and f"{real}{os.sep}".startswith(os.path.realpath(link) + os.sep)
        for link in links
    )


def _links_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as found:
            return [entry.name for entry in found if entry.is_symlink()]
    except OSError:  # gone, or not ours to read
        return []


def _ended_like(text: bytes, draft: bytes) -> bytes:
    """A draft with the line endings of the text that it changes, where that has one kind."""
    lone = text.replace(b"\r\n", b"").count(b"\n")
    if lone and b"\r\n" in text:
        return draft
    plain = draft.replace(b"\r\n", b"\n")
    return plain.replace(b"\n", b"\r\n") if b"\r\n" in text else plain


@dataclass(frozen=True)
class DocShelf:
    """The magic docs of one work tree, and the store that holds what stood in them."""

    store: MemoryStore
    tree: str  # the work tree
    kept_out: Sequence[str] = ()  # folders in it that hold memories, which have a history already

    def key_of(self, path: str, folder: str = "") -> str:
        """The key of a file that an agent read, in this folder. PathEscape for what may be no magic doc: outside the
        project, hidden, under a name that other agents obey, or among the memories."""
        full = os.path.normpath(os.path.join(self.tree, folder, path))
        roots = dict.fromkeys((self.tree, os.path.realpath(self.tree)))
        root = next((root for root in roots if full.startswith(root.rstrip(os.sep) + os.sep)), None)
        if root is None or any(is_inside(full, folder) for folder in self.kept_out):
            raise PathEscape(f"{path} is not one of the project's own files", remedy=_OUTSIDE_REMEDY)
        return self._unobeyed(check_key(os.path.relpath(full, root).replace(os.sep, "/")))

    def _unobeyed(self, key: str) -> str:
        """The key of a file that nobody obeys; PathEscape for one that some do."""
        if is_obeyed(os.path.join(self.tree, key), self.tree):
            remedy = "Keep the document elsewhere"
            raise PathEscape(f"{key} is left alone: agents obey files of that name, or a link to it", remedy=remedy)
        return key

    def read(self, key: str) -> MagicDoc:
        """A doc as it is now. MemoryNotFound where there is none any more, or its header is gone; PathEscape and
        BadMemoryFile where something stands there that is left alone."""
        folder, name = os.path.split(check_key(key))
        try:
            with held_folder(os.path.realpath(self.tree), folder) as held:
                text, status = read_with_status(os.path.join(held, name), max_bytes=MAX_DOC_BYTES, follow=False)
        except (NotPlain, TooLarge) as error:
            raise BadMemoryFile(f"{key} is left alone: {error}", remedy=_OUTSIDE_REMEDY) from None
        except (FileNotFoundError, NotADirectoryError):
            raise MemoryNotFound(f"there is no file {key}") from None
        except OSError as error:
            raise disk_error(error, "read", key) from error
        found = MagicDoc.parse(text, key, os.path.join(self.tree, key))
        if found is None:
            raise MemoryNotFound(f"{key} does not begin with `# MAGIC DOC: ` and a title, in UTF-8")
        if status.st_nlink > 1 or not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
            told = "it has a second name (a hard link)" if status.st_nlink > 1 else "it is read-only"
            raise BadMemoryFile(f"{key} is left alone: {told}", remedy=_OUTSIDE_REMEDY)
        return found

    def update(self, doc: MagicDoc, after: bytes, origin: Origin) -> Commit | None:
        """Write what became of a doc, and note both texts in the history. EditConflict where somebody changed the file
        since it was read: theirs stays."""
        self._note(self._unobeyed(doc.key), doc.text)
        self.store.history.keep([after])  # so that what is left of it beside the file is known as ours
        self._put(doc.key, doc.text, after)
        with self.store.changing(origin, f"update {doc.key}") as change:
            change.put_back(doc.key, after)
        return next(iter(self.store.history.log(doc.key, limit=1)), None) if self.store.history.is_readable else None

    def undo(self, change: str = "", *, is_dry: bool = False) -> Undone:
        """Take back an update: the newest that was not taken back yet, or the one with this id. What a person changed
        in other lines since then stays."""
        require_history(self.store)
        updates = (one for one in standing(self.store) if one.source == UPDATED)
        commit = named_change(self.store, change) if change else next(updates, None)
        if commit is None:
            raise MemoryNotFound("there is nothing to undo", remedy="`memdir log --scope docs` shows every change")
        if any(not file.before for file in commit.files):
            raise MemoryNotFound(
                f"there is nothing to undo before {commit.id[:8]}: the history begins with the file as it was then"
            )
        if is_dry:
            return undo(self.store, commit.id, is_dry=True)
        docs = [self.read(file.path) for file in commit.files]
        for doc, file in zip(docs, commit.files, strict=True):
            if object_id("blob", doc.text) != file.before:  # else it came back, and that was not noted any more
                self._note(doc.key, doc.text)
        return undo(self.store, commit.id, first=lambda change: self._bring_back(docs, change))

    def restore(self, key: str, change: str = "") -> Commit:
        """Bring a whole version back into the file: as it was after a change, or before its newest."""
        doc = self.read(key)
        self._note(doc.key, doc.text)
        return restore(self.store, key, change, first=lambda change: self._bring_back([doc], change))

    def _bring_back(self, docs: Sequence[MagicDoc], change: ChangeSet) -> None:
        """Put into the files what a change makes of their copies. It is recorded after that: one that could not be
        written is still to be taken back."""
        for doc in docs:
            wanted = change.read(doc.key) or doc.text
            self.store.history.keep([wanted])
            self._put(doc.key, doc.text, wanted)

    def _note(self, key: str, text: bytes) -> None:
        """Have a text in the history before anything is written over it, whoever wrote it."""
        if self.store.read_bytes(key) != text:
            with self.store.changing(Origin(OUTSIDE), f"found {key} as it is") as change:
                change.put_back(key, text)

    def _put(self, key: str, expected: bytes, wanted: bytes) -> None:
        """Put another text into a file that holds what is expected; its mode stays."""
        if self.read(key).text != expected:
            raise EditConflict(f"{key} has changed since it was read", remedy="Read it again")
        folder, name = os.path.split(key)
        try:
            with held_folder(os.path.realpath(self.tree), folder) as held:
                self._sweep(held)
                path = os.path.join(held, name)
                mode = stat.S_IMODE(os.lstat(path).st_mode)
                replace_file(path, expected, wanted)
                os.chmod(path, mode)
                flush_folder(held)
        except OSError as error:
            if isinstance(error, NotPlain | FileNotFoundError):
                raise EditConflict(f"{key} was replaced by something else meanwhile") from None
            raise disk_error(error, "write", key) from error

    def _sweep(self, folder: str) -> None:
        """Remove what a killed update left beside the file, where the history has it: it may be a person's text."""
        objects = self.store.history.git.objects
        for path in abandoned_temporaries(folder, is_deep=False):
            left = read_if_plain(path, MAX_DOC_BYTES)
            if left is not None and (not left or read_object(objects, object_id("blob", left)) == left):
                delete_file(path)
