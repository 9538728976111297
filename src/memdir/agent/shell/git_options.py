"""The git sub-commands that may run and their options: data only, read by `git.py` (layer 2).

Left out on purpose: whatever writes, reaches a remote, opens an editor or a pager, points git at another repository
(`-C`, `--git-dir`), or runs a program the repository names (`--ext-diff`, `--textconv`, `%G?`, `--show-signature`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from memdir.agent.shell.spec import Spec, names

_DIFF_SHORT = "pusabwzWRrU:M::C::B::S:G:l:"
_DIFF_LONG = (
    "patch no-patch raw patch-with-stat stat[=] numstat shortstat dirstat[=] summary compact-summary name-only "
    "name-status color[=] no-color color-words[=] word-diff[=] word-diff-regex= no-renames find-renames[=] "
    "find-copies[=] find-copies-harder text ignore-all-space ignore-space-change ignore-space-at-eol "
    "ignore-blank-lines ignore-cr-at-eol unified= function-context diff-filter= pickaxe-all pickaxe-regex relative[=] "
    "minimal patience histogram diff-algorithm= abbrev[=] full-index binary no-ext-diff no-textconv no-prefix "
    "src-prefix= dst-prefix= inter-hunk-context= indent-heuristic ignore-submodules[=] exit-code quiet check "
)
_LOG_SHORT = "n:iEFPgcmtL:" + _DIFF_SHORT
_LOG_LONG = (
    "oneline max-count= skip= since= after= until= before= author= committer= grep= all-match invert-grep "
    "regexp-ignore-case extended-regexp fixed-strings perl-regexp all branches[=] tags[=] remotes[=] glob= exclude= "
    "graph no-graph decorate[=] no-decorate decorate-refs= abbrev-commit no-abbrev-commit merges no-merges "
    "min-parents= max-parents= first-parent reverse follow full-history simplify-by-decoration simplify-merges "
    "show-pulls ancestry-path date= relative-date date-order author-date-order topo-order left-right left-only "
    "right-only cherry-pick cherry-mark cherry boundary walk-reflogs no-walk[=] source notes[=] no-notes format= "
    "pretty[=] cc combined-all-paths diff-merges= no-diff-merges parents children full-diff log-size no-mailmap "
    "mailmap use-mailmap encoding= merge not "
) + _DIFF_LONG
_LOG = Spec(short=_LOG_SHORT, long=_LOG_LONG, number=True)
_BLAME = Spec(
    short="wesnfltpcbM::C::L:",
    long="line-porcelain porcelain show-email show-name show-number root date= abbrev= since= first-parent incremental "
    "reverse color-lines color-by-age",
)
_REF_FILTER = "sort= contains[=] no-contains[=] merged[=] no-merged[=] points-at= format= color[=] ignore-case "

GLOBAL_OPTIONS = frozenset({"--no-pager", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"})

SUBCOMMANDS: Mapping[str, Spec] = MappingProxyType(
    {
        "status": Spec(
            short="sbvzu::",
            long="short branch porcelain[=] long verbose untracked-files[=] ignored[=] ignore-submodules[=] show-stash "
            "ahead-behind no-ahead-behind renames no-renames find-renames[=] column[=] no-column",
        ),
        "log": _LOG,
        "show": _LOG,
        "reflog": _LOG,
        "stash": _LOG,
        "shortlog": Spec(
            short="sew::" + _LOG_SHORT.replace("n:", "n"), long="summary numbered email group= " + _LOG_LONG
        ),
        "rev-list": Spec(short=_LOG_SHORT, long="count timestamp header " + _LOG_LONG, number=True),
        "diff": Spec(short=_DIFF_SHORT, long="cached staged merge-base " + _DIFF_LONG),
        "diff-tree": Spec(short="cmt" + _DIFF_SHORT, long="root no-commit-id cc merge-base pretty[=] " + _DIFF_LONG),
        "blame": _BLAME,
        "annotate": _BLAME,
        "grep": Spec(
            short="ivwnlLcqhHaIEFGPoe:f:A:B:C:pWz",
            long="ignore-case invert-match word-regexp line-number column files-with-matches files-without-match "
            "name-only count quiet text extended-regexp fixed-strings basic-regexp perl-regexp only-matching "
            "after-context= before-context= context= show-function function-context null cached untracked "
            "exclude-standard no-exclude-standard full-name heading break color[=] no-color and or not all-match "
            "max-depth= max-count=",
            operands="pattern",
            pattern_options="e f",
            number=True,
        ),
        "branch": Spec(
            short="avrli",
            long="all verbose remotes list show-current abbrev= no-abbrev no-color column[=] no-column " + _REF_FILTER,
        ),
        "tag": Spec(short="ln::i", long="list column[=] no-column " + _REF_FILTER),
        "for-each-ref": Spec(long="count= omit-empty exclude= " + _REF_FILTER),
        "show-ref": Spec(short="dqs::", long="head heads branches tags verify hash[=] abbrev[=] dereference quiet"),
        "remote": Spec(short="v", long="verbose all push"),
        "worktree": Spec(short="vz", long="porcelain verbose"),
        "config": Spec(long="get get-all local null show-origin show-scope", operands="text"),
        "ls-files": Spec(
            short="cdmoiksutvzx:X:f",
            long="cached deleted modified others ignored stage unmerged killed directory no-empty-directory eol "
            "exclude= exclude-from= exclude-standard error-unmatch full-name abbrev[=] deduplicate",
        ),
        "ls-tree": Spec(short="drtlz", long="name-only name-status long full-name full-tree object-only abbrev[=]"),
        "cat-file": Spec(short="pste"),
        "rev-parse": Spec(
            short="q",
            long="verify quiet short[=] abbrev-ref[=] symbolic symbolic-full-name show-toplevel show-prefix show-cdup "
            "git-dir absolute-git-dir git-common-dir is-inside-work-tree is-inside-git-dir is-bare-repository "
            "is-shallow-repository all branches[=] tags[=] remotes[=] show-object-format[=]",
        ),
        "describe": Spec(
            long="tags all always long abbrev= exact-match match= exclude= candidates= first-parent contains",
        ),
        "symbolic-ref": Spec(short="q", long="short quiet", most=1),
        "merge-base": Spec(short="a", long="all octopus independent is-ancestor"),
        "name-rev": Spec(long="tags name-only always no-undefined refs= exclude="),
        "cherry": Spec(short="v", long="verbose abbrev[=]"),
        "count-objects": Spec(short="vH", long="verbose human-readable"),
        "check-ignore": Spec(short="vnq", long="verbose non-matching quiet no-index"),
        "version": Spec(long="build-options"),
    }
)

# Sub-commands whose first operand is a verb of its own; the ones here only read.
VERBS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "stash": frozenset({"list", "show"}),
        "reflog": frozenset({"", "show", "list", "exists", "HEAD"}),
        "remote": frozenset({"", "get-url"}),
        "worktree": frozenset({"list"}),
    }
)
PRETTY_NAMES = names("oneline short medium full fuller reference email raw mboxrd")
