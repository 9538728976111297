"""The places where a value stands by the rules of a protocol, a program or a file. Data only.

The literals are looked for in lower case. The group that took part in the match is the value.
"""

from __future__ import annotations

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# One shell word: quoted either way, or bare. Exactly one of its three groups takes part in a match.
_WORD = r"""(?:"([^"\n]{1,200})"|'([^'\n]{1,200})'|([^\s"'`|;&<>]{1,200}))"""
_ARGUMENTS = r"\s[^\n|;]{0,200}?(?<=\s)"  # whatever a command line says before the option we look for
_NAME_OF_ONE = r"[\w.:-]{0,60}(?:password|passwd|pwd|secret|api_?key|access_?key|token)"

# Places where a value stands by the rules of a protocol, a program or a file: (kind, literals, pattern, how sure).
# "stated": whatever stands there is the secret unless it is a placeholder. "assigned": it must also look like one.
# "near": it must look like nothing else. "pair": it is base64 of "user:password".
PLACES: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    (
        "url-password",
        ("://",),
        r"""://[^\s/?#:@"'<>`]{0,100}:([^\s/"'<>`]{2,256})@(?=[\w\[$%{])""",
        "stated",
    ),
    ("url-token", ("://",), r"https?://([A-Za-z0-9_.~-]{20,256})(?::x-oauth-basic)?@(?![a-z0-9.]*sentry)", "assigned"),
    ("database-password", ("jdbc:oracle:",), r"""jdbc:oracle:\w+:[^/\s"']{1,60}/([^@\s"']{2,100})@""", "stated"),
    ("database-password", ("sqlplus",), r"sqlplus\s{1,4}(?:-\w\s{1,4}){0,3}[\w.-]{1,60}/([^@\s\"']{2,100})", "stated"),
    (
        "login-password",
        ("@",),
        r"(?<![\w.-])[\w.-]{2,40}:([^\s:@/\"'<>`]{6,100})@[A-Za-z0-9-]{1,60}(?:\.[A-Za-z0-9-]{1,60}){1,6}",
        "assigned",
    ),
    ("basic-auth", ("basic ",), r"(?i)\bBasic\s{1,4}([A-Za-z0-9+/_-]{8,400}={0,2})", "pair"),
    ("bearer-token", ("bearer ",), r"(?i)\bBearer\s{1,4}([A-Za-z0-9._~+/-]{12,2000}={0,2})", "assigned"),
    (
        "auth-header",
        ("authorization",),
        r"""(?i)\bAuthorization["']?\s{0,4}[:=]\s{0,4}["']?(?:\w{2,20}\s{1,2})?([A-Za-z0-9._~+/=:-]{16,2000})""",
        "assigned",
    ),
    (
        "cookie",
        ("cookie",),
        r"""(?i)\bCookie["']?\s{0,4}[:=]\s{0,4}["']?[^\n"']{0,400}?\b[\w.-]{1,60}=([^\s;"',]{16,2000})""",
        "assigned",
    ),
    (
        "session-cookie",
        ("session", "sessid=", "sid="),
        r"""(?i)\b(?:j?session_?id|session|(?:php)?sessid|(?:connect\.)?sid)=([^\s;"'&,]{20,2000})""",
        "assigned",
    ),
    (
        "netrc-password",
        ("login ",),
        r"\blogin\s{1,4}\S{1,100}\s{1,20}(?:account\s{1,4}\S{1,60}\s{1,20})?password\s{1,4}(\S{3,200})",
        "stated",
    ),
    ("npm-auth", ("_auth",), rf"_auth(?:Token)?\s{{0,4}}=\s{{0,4}}{_WORD}", "stated"),
    (
        "pgpass-line",
        (":5432:", ":*:"),
        r"(?m)^[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w*-]{1,60}:[\w*.-]{1,60}:(\S{4,100})$",
        "assigned",
    ),
    (
        "sql-password",
        ("identified by",),
        r"(?i)\bIDENTIFIED\s{1,4}(?:WITH\s{1,4}\w{1,40}\s{1,4})?BY\s{1,4}['\"]([^'\"\n]{3,200})['\"]",
        "stated",
    ),
    (
        "sql-password",
        ("password '",),
        r"(?i)\b(?:WITH|ROLE|USER)\s[^\n;]{0,80}?\bPASSWORD\s{1,4}'([^'\n]{1,200})'",
        "stated",
    ),
    ("xml-password", ("</",), rf"(?i)<{_NAME_OF_ONE}>([^<>\s]{{4,400}})</", "assigned"),
    (
        "xml-setting",
        ("value=",),
        rf"""(?i)["']{_NAME_OF_ONE}["']\s{{1,4}}value=["']([^"'\n]{{4,400}})["']""",
        "assigned",
    ),
    (
        "json-setting",
        ('"value"',),
        rf"""(?i)"(?:name|key)"\s{{0,4}}:\s{{0,4}}"{_NAME_OF_ONE}",\s{{0,20}}"value"\s{{0,4}}:\s{{0,4}}"([^"\n]{{4,400}})["]""",
        "assigned",
    ),
    ("azure-storage-key", ("accountkey=",), r"(?i)AccountKey=([A-Za-z0-9+/]{40,100}={0,2})", "stated"),
    ("azure-shared-key", ("sharedaccesskey=",), r"(?i)SharedAccessKey=([A-Za-z0-9+/]{40,60}={0,2})", "stated"),
    (
        "azure-shared-signature",
        ("sig=",),
        r"(?i)(?<=[?&;])sig=([A-Za-z0-9+/_-][A-Za-z0-9%+/_-]{26,120}={0,2})",
        "stated",
    ),
    (
        "wireguard-key",
        ("privatekey", "presharedkey"),
        r"(?i)\b(?:Private|Preshared)Key\s{0,4}=\s{0,4}([A-Za-z0-9+/]{43}=)",
        "stated",
    ),
    ("kubernetes-client-key", ("client-key-data",), r"client-key-data:\s{0,4}([A-Za-z0-9+/]{60,}={0,2})", "stated"),
    ("docker-auth", ('"auth"',), r'"auth"\s{0,4}:\s{0,4}"([A-Za-z0-9+/]{12,}={0,2})"', "pair"),
    ("jwk-private-key", ('"kty"',), r'"[dk]"\s{0,4}:\s{0,4}"([A-Za-z0-9_-]{30,})"', "stated"),
    ("solana-key", ("[",), r"\[((?:\d{1,3},\s?){63}\d{1,3})\]", "stated"),
    ("okta-token", ("ssws ",), r"(?i)\bSSWS\s{1,2}([A-Za-z0-9_-]{30,60})", "stated"),
    ("otp-secret", ("otpauth://",), r"(?i)otpauth://[^\s\"'<>]{1,200}?[?&]secret=([A-Z2-7]{8,200})", "stated"),
    ("wifi-password", ("wifi:",), r"(?i)\bWIFI:[^\n]{0,100}?;P:([^;\n]{4,63});", "stated"),
    # Programs that take a password on the command line
    ("command-password", ("sshpass",), rf"sshpass\s{{1,4}}-p\s{{0,4}}{_WORD}", "stated"),
    ("command-password", ("mysql", "mariadb"), rf"\b(?:mysql|mariadb)\w{{0,10}}{_ARGUMENTS}-p{_WORD}", "stated"),
    ("command-password", ("redis-cli",), rf"redis-cli{_ARGUMENTS}(?:-a|--pass)\s{{1,4}}{_WORD}", "stated"),
    (
        "command-password",
        ("login",),
        rf"\b(?:docker|podman|helm|oc|az|crane|skopeo|buildah|nerdctl|oras)\s(?:\w{{1,20}}\s)?login{_ARGUMENTS}-p\s{{0,4}}{_WORD}",
        "stated",
    ),
    (
        "command-password",
        ("mongo", "cqlsh", "sqlcmd", "bcp", "vsql"),
        rf"\b(?:mongo\w{{0,10}}|cqlsh|sqlcmd|bcp|vsql){_ARGUMENTS}-[pPw]\s{{0,4}}{_WORD}",
        "stated",
    ),
    (
        "command-password",
        (" -u", " -a", " --user", " --auth"),
        rf"""\b(?:curl|https?|wget){_ARGUMENTS}(?:-u|-a|--user|--auth)[\s=]{{0,2}}["']?[^\s:"'$]{{1,60}}:([^\s"'@]{{3,200}})""",
        "stated",
    ),
    ("command-password", ("ldap",), rf"\bldap\w{{2,10}}{_ARGUMENTS}-w\s{{0,4}}{_WORD}", "stated"),
    (
        "command-password",
        ("smbclient", "rpcclient"),
        rf"\b(?:smbclient|rpcclient){_ARGUMENTS}-U\s{{0,4}}['\"]?[^\s%]{{1,60}}%([^\s'\"]{{3,100}})",
        "stated",
    ),
    (
        "command-password",
        ("lftp",),
        rf"\blftp{_ARGUMENTS}-u\s{{0,4}}['\"]?[^\s,]{{1,60}},([^\s'\"]{{3,100}})",
        "stated",
    ),
    ("command-password", ("net use",), r"\bnet use\s[^\n]{0,200}?/user:\S{1,80}\s{1,4}(\S{4,100})", "stated"),
    ("command-password", ("/p:",), r"freerdp\w{0,2}\s[^\n]{0,200}?(?<=\s)/p:(\S{3,100})", "stated"),
    ("command-password", ("pass:",), r"-pass(?:in|out)?\s{1,4}['\"]?pass:([^\s'\"]{3,200})", "stated"),
    ("command-password", ("zip",), rf"\b(?:un)?zip{_ARGUMENTS}-P\s{{0,4}}{_WORD}", "stated"),
    ("command-password", ("7z", "unrar"), rf"\b(?:7za?|unrar){_ARGUMENTS}-p{_WORD}", "stated"),
    (
        "command-password",
        ("htpasswd",),
        rf"htpasswd\s{{1,4}}-\w{{0,6}}b\w{{0,6}}\s{{1,4}}(?:\S{{1,200}}\s{{1,4}}){{1,2}}{_WORD}",
        "assigned",
    ),
    (
        "command-password",
        ("rabbitmqctl",),
        rf"rabbitmqctl\s{{1,4}}(?:add_user|change_password)\s{{1,4}}\S{{1,60}}\s{{1,4}}{_WORD}",
        "stated",
    ),
    (
        "command-password",
        ("chpasswd",),
        r"echo\s{1,4}['\"]?[\w.-]{1,40}:([^\s'\"|]{3,100})['\"]?\s{0,4}\|[^\n|]{0,40}chpasswd",
        "stated",
    ),
    (
        "command-password",
        ("--password-stdin", "sudo -s"),
        rf"(?i)\becho\s{{1,4}}(?:-n\s{{1,4}})?{_WORD}\s{{0,4}}\|[^\n|]{{0,200}}(?:--password-stdin|sudo\s{{1,4}}-S)",
        "stated",
    ),
    (
        "command-password",
        (" --",),
        rf"(?i)(?<=\s)--(?:[a-z]{{2,20}}-){{0,2}}(?:pass(?:word|wd|phrase)?|token|secret|(?:api|secret|access)-?key)(?:\s{{1,4}}|=){_WORD}",
        "assigned",
    ),
    ("wifi-password", ("wpa_passphrase",), rf"wpa_passphrase\s{{1,4}}\S{{1,60}}\s{{1,4}}{_WORD}", "stated"),
    ("redis-password", ("requirepass", "masterauth"), rf"\b(?:requirepass|masterauth)\s{{1,4}}{_WORD}", "stated"),
    (
        "login-password",
        ("admin", "root", "deploy", "user", "sa", "postgres", "ubuntu"),
        r"(?<![\w/.-])(?:admin|administrator|root|deploy|user|sa|postgres|ubuntu)\s{0,2}[:/]\s{0,2}([^\s,]{8,64})",
        "near",
    ),
    ("wifi-password", ("psk=",), rf"\bpsk={_WORD}", "stated"),
    (
        "aws-secret-key",
        ("aws configure set",),
        rf"aws configure set\s{{1,4}}(?:\S{{1,60}}\.)?aws_(?:secret_access_key|session_token)\s{{1,4}}{_WORD}",
        "stated",
    ),
    ("wallet-key", ("0x",), r"(?i)(?:private|wallet|signing|deployer|secret)[^\n]{0,40}?\b(0x[0-9a-f]{64})", "stated"),
)
