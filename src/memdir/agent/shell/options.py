"""The commands that may run and the options each may be given: data only, read by `check.py` (layer 2).

A row names what is allowed; everything else is refused. `harmless=True` claims that *no* option of the program writes
a file, runs a program or reaches the network, so words from `*` or xargs cannot hurt; think twice before claiming it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from memdir.agent.shell.spec import Spec, names

_LS = Spec(
    short="aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1",
    long="all almost-all author escape block-size= ignore-backups color[=] directory dired classify[=] file-type "
    "format= full-time group-directories-first no-group human-readable si dereference-command-line "
    "dereference-command-line-symlink-to-dir hide= hyperlink[=] indicator-style= inode ignore= kibibytes dereference "
    "numeric-uid-gid literal hide-control-chars show-control-chars quote-name quoting-style= reverse recursive size "
    "sort= time= time-style= tabsize= width= context zero",
    harmless=True,
    walks="R recursive",
)
_GREP = Spec(
    short="EFGPe:f:iwxzsvVm:bnHhoqaId:D:rRLlcTZB:A:C:U",
    long="extended-regexp fixed-strings basic-regexp perl-regexp regexp= file= ignore-case no-ignore-case word-regexp "
    "line-regexp null-data no-messages invert-match max-count= byte-offset line-number line-buffered with-filename "
    "no-filename label= only-matching quiet silent binary-files= text directories= devices= recursive "
    "dereference-recursive include= exclude= exclude-from= exclude-dir= files-without-match files-with-matches count "
    "initial-tab null before-context= after-context= context= group-separator= no-group-separator color[=] colour[=] "
    "binary",
    operands="pattern",
    pattern_options="e f regexp file",
    least=1,
    number=True,
    harmless=True,
    walks="r R recursive dereference-recursive",
)
_DIGEST = Spec(
    short="bctwz",
    long="binary check tag text zero ignore-missing quiet status strict warn",
    least=1,
    harmless=True,
)
_LINES = "lines= bytes= quiet silent verbose zero-terminated"

_FILES = {
    "ls": _LS,
    "dir": _LS,
    "vdir": _LS,
    "find": Spec(rule="find"),
    "fd": Spec(
        short="HIsigFaLp0t:e:d:E:1",
        long="hidden no-ignore case-sensitive ignore-case glob fixed-strings absolute-path follow full-path print0 "
        "type= extension= max-depth= min-depth= exact-depth= exclude= max-results= color= changed-within= "
        "changed-before= size=",
        operands="pattern",
        walks="always",
    ),
    "tree": Spec(
        short="adfxL:P:I:qNQpugshDFvtcUriASnCXJl",
        long="gitignore ignore-case matchdirs metafirst prune noreport si du inodes dirsfirst filesfirst",
        attached=False,
        walks="always",
    ),
    "du": Spec(
        short="0aB:bcDd:HhkLlmPSst:X:x",
        long="null all apparent-size block-size= bytes total dereference-args max-depth= human-readable inodes "
        "dereference count-links no-dereference separate-dirs si summarize threshold= time[=] time-style= "
        "exclude-from= exclude= one-file-system",
        harmless=True,
        walks="always",
    ),
    "df": Spec(
        short="aB:hHiklPt:Tx:v",
        long="all block-size= human-readable si inodes local no-sync output[=] portability total type= print-type "
        "exclude-type=",
    ),
    "stat": Spec(short="Lfc:t", long="dereference file-system cached= format= printf= terse", harmless=True),
    "file": Spec(
        short="bihLkNnr0F:e:",
        long="brief mime mime-type mime-encoding extension keep-going dereference no-dereference no-buffer no-pad "
        "print0 raw separator= exclude=",
    ),
    "realpath": Spec(
        short="eEmLPqsz",
        long="canonicalize-existing canonicalize-missing logical physical quiet relative-to= relative-base= strip "
        "no-symlinks zero",
        harmless=True,
    ),
    "readlink": Spec(
        short="femnqsvz",
        long="canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero",
        harmless=True,
    ),
    "basename": Spec(short="as:z", long="multiple suffix= zero", operands="text", harmless=True),
    "dirname": Spec(short="z", long="zero", operands="text", harmless=True),
    "pwd": Spec(short="LP", operands="none"),
    "test": Spec(rule="test"),
    "[": Spec(rule="test"),
    "[[": Spec(rule="test"),
}

_CONTENT = {
    "cat": Spec(
        short="AbeEnstTuv",
        long="show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting",
        least=1,
        harmless=True,
    ),
    "tac": Spec(short="brs:", long="before regex separator=", least=1, harmless=True),
    "nl": Spec(
        short="b:d:f:h:i:l:n:ps:v:w:",
        long="body-numbering= section-delimiter= footer-numbering= header-numbering= line-increment= join-blank-lines= "
        "number-format= no-renumber number-separator= starting-line-number= number-width=",
        least=1,
        harmless=True,
    ),
    "head": Spec(short="c:n:qvz", long=_LINES, least=1, number=True, harmless=True),
    "tail": Spec(short="c:n:qvz", long=_LINES, least=1, number=True, harmless=True),
    "wc": Spec(short="clmwL", long="bytes chars lines words max-line-length total=", least=1, harmless=True),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": Spec(
        short="A:B:bsC:cE:f:lFLg:hivnxM:m:UIN0oPpqe:r:Sat:T:uVHw.",
        long="after-context= before-context= binary byte-offset case-sensitive color= colors= column context= "
        "context-separator= count count-matches crlf encoding= engine= field-context-separator= field-match-separator= "
        "file= files files-with-matches files-without-match fixed-strings follow glob= glob-case-insensitive heading "
        "hidden iglob= ignore-case ignore-file= include-zero invert-match json line-buffered line-number line-regexp "
        "max-columns= max-columns-preview max-count= max-depth= max-filesize= multiline multiline-dotall no-config "
        "no-filename no-heading no-ignore no-ignore-dot no-ignore-exclude no-ignore-files no-ignore-global "
        "no-ignore-parent no-ignore-vcs no-line-number no-messages no-require-git no-unicode null null-data "
        "one-file-system only-matching passthru pcre2 pretty quiet regexp= replace= smart-case sort= sortr= stats text "
        "trim type= type-list type-not= unrestricted vimgrep with-filename word-regexp",
        operands="pattern",
        pattern_options="e f regexp file files type-list",
        walks="always",
    ),
    "md5sum": _DIGEST,
    "sha1sum": _DIGEST,
    "sha224sum": _DIGEST,
    "sha256sum": _DIGEST,
    "sha384sum": _DIGEST,
    "sha512sum": _DIGEST,
    "b2sum": _DIGEST,
    "cksum": Spec(short="a:z", long="algorithm= base64 raw tag untagged zero", least=1, harmless=True),
    "sum": Spec(short="rs", long="sysv", least=1, harmless=True),
    "base64": Spec(short="diw:", long="decode ignore-garbage wrap=", least=1, harmless=True),
    "zcat": Spec(least=1),
    "bzcat": Spec(least=1),
    "xzcat": Spec(least=1),
    "strings": Spec(
        short="adfn:t:e:wos:",
        long="all data print-file-name bytes= radix= encoding= include-all-whitespace output-separator=",
        least=1,
        number=True,
        harmless=True,
    ),
    "od": Spec(
        short="A:j:N:S:t:vw::abcdfilosx",
        long="address-radix= endian= skip-bytes= read-bytes= strings[=] format= output-duplicates width[=]",
        least=1,
        harmless=True,
    ),
    "hexdump": Spec(
        short="bcCdoxe:n:s:v",
        long="one-byte-octal one-byte-char canonical two-bytes-decimal two-bytes-octal two-bytes-hex length= skip= "
        "no-squeezing",
        least=1,
        harmless=True,
    ),
    "xxd": Spec(rule="xxd"),
    "tar": Spec(rule="archive"),
    "unzip": Spec(rule="archive"),
}

_FILTERS = {
    "sort": Spec(
        short="bdfgiMhnRrVcCmsuzk:t:",
        long="ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort "
        "human-numeric-sort numeric-sort random-sort reverse sort= version-sort check[=] key= merge stable unique "
        "zero-terminated field-separator= debug",
        least=1,
    ),
    "uniq": Spec(
        short="cdDiuzf:s:w:",
        long="count repeated all-repeated[=] skip-fields= group[=] ignore-case skip-chars= unique zero-terminated "
        "check-chars=",
        least=1,
        most=1,
        options_first=True,
    ),
    "cut": Spec(
        short="b:c:d:f:nsz",
        long="bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated",
        least=1,
        harmless=True,
    ),
    "tr": Spec(
        short="cCdst", long="complement delete squeeze-repeats truncate-set1", operands="text", least=1, harmless=True
    ),
    "paste": Spec(short="d:sz", long="delimiters= serial zero-terminated", least=1, harmless=True),
    "join": Spec(
        short="a:e:ij:o:t:v:1:2:z",
        long="ignore-case check-order nocheck-order header zero-terminated",
        least=2,
        harmless=True,
    ),
    "comm": Spec(
        short="123z", long="check-order nocheck-order output-delimiter= total zero-terminated", least=2, harmless=True
    ),
    "cmp": Spec(
        short="bi:ln:s", long="print-bytes ignore-initial= verbose bytes= quiet silent", least=2, harmless=True
    ),
    "diff": Spec(
        short="qscC:uU:enyW:pF:tTrNx:X:S:iEZbwBI:ad",
        long="normal brief report-identical-files context[=] unified[=] ed rcs side-by-side width= left-column "
        "suppress-common-lines show-c-function show-function-line= label= expand-tabs initial-tab tabsize= "
        "suppress-blank-empty recursive no-dereference new-file unidirectional-new-file ignore-file-name-case exclude= "
        "exclude-from= starting-file= ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change "
        "ignore-all-space ignore-blank-lines ignore-matching-lines= text strip-trailing-cr minimal speed-large-files "
        "color[=]",
        least=2,
        number=True,
        walks="r recursive",
    ),
    "rev": Spec(least=1, harmless=True),
    "fold": Spec(short="bsw:", long="bytes spaces width=", least=1, number=True, harmless=True),
    "fmt": Spec(
        short="cstuw:g:p:",
        long="crown-margin split-only tagged-paragraph uniform-spacing width= goal= prefix=",
        least=1,
        number=True,
        harmless=True,
    ),
    "expand": Spec(short="it:", long="initial tabs=", least=1, harmless=True),
    "unexpand": Spec(short="at:", long="all first-only tabs=", least=1, harmless=True),
    "column": Spec(
        short="ts:o:c:xN:R:J",
        long="table separator= output-separator= output-width= fillrows json",
        least=1,
        harmless=True,
    ),
    "shuf": Spec(short="n:z", long="head-count= zero-terminated", least=1),
    "sed": Spec(rule="sed"),
    "awk": Spec(rule="awk"),
    "jq": Spec(rule="jq"),
    "xargs": Spec(rule="xargs"),
}

_SYSTEM = {
    "echo": Spec(rule="any", harmless=True),
    ":": Spec(rule="any"),
    "printf": Spec(rule="printf"),
    "true": Spec(rule="any"),
    "false": Spec(rule="any"),
    "expr": Spec(rule="any"),
    "seq": Spec(rule="seq"),
    "date": Spec(rule="date"),
    "uname": Spec(
        short="asnrvmpio",
        long="all kernel-name nodename kernel-release kernel-version machine processor hardware-platform "
        "operating-system",
        operands="none",
    ),
    "arch": Spec(operands="none"),
    "hostname": Spec(short="s", long="short", operands="none"),
    "uptime": Spec(short="ps", long="pretty since", operands="none"),
    "whoami": Spec(operands="none"),
    "id": Spec(short="gGnruz", long="group groups name real user zero", operands="text"),
    "groups": Spec(operands="text"),
    "nproc": Spec(long="all ignore=", operands="none"),
    "who": Spec(operands="none"),
    "users": Spec(operands="none"),
    "logname": Spec(operands="none"),
    "lscpu": Spec(operands="none"),
    "locale": Spec(operands="none"),
    "cal": Spec(operands="text"),
    "tty": Spec(short="s", long="silent quiet", operands="none"),
    "free": Spec(
        short="bkmghltvw",
        long="bytes kilo mega giga kibi mebi gibi human si lohi total committed wide",
        operands="none",
    ),
    "ps": Spec(rule="words"),
    "lsof": Spec(rule="words"),
    "which": Spec(short="a", operands="text"),
    "type": Spec(short="atpP", operands="text"),
    "command": Spec(rule="command"),
    "python": Spec(rule="version"),
    "python3": Spec(rule="version"),
    "node": Spec(rule="version"),
    "bash": Spec(rule="version"),
    "git": Spec(rule="git"),
}

COMMANDS: Mapping[str, Spec] = MappingProxyType(_FILES | _CONTENT | _FILTERS | _SYSTEM)

# What to do instead, for commands a model is likely to try.
HINTS: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(names("cd pushd popd"), "name the folder in the command itself, as in `ls src`")
    | dict.fromkeys(names("less more man bat view"), "use `cat`, `head` or the Read tool")
    | dict.fromkeys(
        names("touch mkdir rm rmdir mv cp ln tee dd install truncate chmod chown patch rsync ed"),
        "files are changed with the Write and Edit tools only",
    )
    | dict.fromkeys(names("curl wget ssh scp nc ping nslookup dig telnet"), "there is no network here; leave it out")
    | dict.fromkeys(names("env printenv set export declare"), "the environment is not shown; leave it out")
    | dict.fromkeys(
        names("sudo doas time timeout nice nohup stdbuf setsid exec eval builtin sh zsh dash watch"),
        "write the inner command itself",
    )
)
