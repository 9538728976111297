"""The words around secrets, in many languages, and those that speak against one. Data only, all in lower case."""

from __future__ import annotations

# What a key may be called after and still be a secret one.
_KEYS = (
    "api|access|private|signing|signature|encryption|master|auth|account|storage|shared|session|service|deploy|hmac|jwt|app"
    "|licen[sc]e|application|admin|client|server|webhook|write|ingest|integration|root|bot|subscription|consumer|functions?"
    "|cookie|crypt|cipher|aes|openai|anthropic|claude|gemini|mistral|cohere|groq|deepgram|stripe|datadog|github|gitlab|aws"
    "|azure|google|maps|slack|twilio|sendgrid|mailgun|algolia|cloudflare|hetzner|pinecone|supabase|sentry|vault"
)
# The words that announce a value: (group, literals, pattern), all in lower case. "human": what people type. "machine":
# what programs send. "login": what stands before a name and a password. "seed": what stands before a wallet's words.
ANNOUNCERS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("human", ("pass",), r"pass(?:[ _-]?phrase|word|wd|code|wort|ord)?"),
    ("human", ("pw", "pswd"), r"pwd?|pswd"),
    ("human", ("kennwort", "zugangscode"), r"kennwort|zugangscode"),
    ("human", ("mot de passe", "mdp"), r"mot de passe|mdp"),
    ("human", ("contrase", "clave"), r"contrase[ñn]a|clave"),
    ("human", ("senha", "palavra"), r"senha|palavra[ -]passe"),
    ("human", ("parol", "wachtwoord", "lösenord"), r"parol[aă]|wachtwoord|lösenord"),
    ("human", ("has", "heslo", "geslo", "lozinka"), r"has[lł][oa]|[hg]eslo|lozinka"),
    ("human", ("jelsz", "adgangskode", "kodeord", "salasana"), r"jelsz[óa]|adgangskode|kodeord|salasana"),
    ("human", ("şifre", "sifre", "kata sandi"), r"[şs]ifre|kata sandi"),
    ("human", ("парол", "лозинка", "κωδικός"), r"парол[ьяа]|лозинка|κωδικός"),
    ("human", ("密码", "密碼", "口令"), r"密码|密碼|口令"),
    ("human", ("パスワード", "暗証番号"), r"パスワード|暗証番号"),
    ("human", ("비밀번호", "암호", "패스워드"), r"비밀번호|암호|패스워드"),
    ("human", ("mật khẩu", "รหัสผ่าน", "पासवर्ड"), r"mật khẩu|รหัสผ่าน|पासवर्ड"),
    ("human", ("كلمة", "رمز عبور", "סיסמ"), r"كلمة (?:المرور|السر)|رمز عبور|סיסמ[הא]"),
    ("machine", ("secret",), r"secret(?:[ _-]?access[ _-]?key|[ _-]?key(?:[ _-]?base)?)?"),
    ("machine", ("token",), r"token"),
    ("machine", ("pat",), r"pat"),
    (
        "machine",
        ("key",),
        rf"(?:{_KEYS})[ _-]?key",
    ),
    (
        "machine",
        ("schlüssel", "geheimnis", "sleutel", "nyckel"),
        r"(?:api|geheime?r?)[ -]?(?:schlüssel|sleutel|nyckel)|geheimnis",
    ),
    (
        "machine",
        ("clé", "clave", "chave", "chiave"),
        r"cl(?:é|ave) (?:d'|de )?(?:api|secr\w+)|ch(?:ave|iave) (?:de |di )?\w{3,8}",
    ),
    ("machine", ("segred", "segret", "klucz", "klíč", "jeton", "anahtar"), r"segr[eé][dt]o|klucz|klíč|jeton|anahtar"),
    ("machine", ("токен", "ключ", "секрет"), r"токен|ключ|секрет"),
    ("machine", ("令牌", "密钥", "密鑰", "金鑰", "秘钥"), r"令牌|密钥|密鑰|金鑰|秘钥"),
    ("machine", ("キー", "トークン", "シークレット"), r"キー|トークン|シークレット"),
    ("machine", ("토큰", "키", "시크릿"), r"토큰|키|시크릿"),
    ("machine", ("code", "otp"), r"(?:recovery|backup)[ _-]?codes?|t?otp[ _-]?(?:seed|secret)"),
    ("login", ("login", "log in", "logon", "cred"), r"log ?in|logon|credentials?|creds"),
    ("login", ("daten", "gegevens", "identifiants"), r"(?:zugangs|anmelde)daten|inloggegevens|identifiants"),
    ("login", ("credenc", "credenz", "данные"), r"credenciales|credenciais|credenziali|уч[её]тные данные"),
    ("login", ("账号", "帳號", "ログイン", "로그인"), r"账号|帳號|ログイン|로그인"),
    (
        "seed",
        ("seed", "phrase", "words", "mnemonic"),
        r"(?:seed|recovery|secret|backup|wallet)[ _-]?(?:phrase|words)|wallet seed|mnemonic",
    ),
    (
        "seed",
        ("phrase", "frase"),
        r"wiederherstellungsphrase|phrase de récupération|frase (?:semilla|de recupera(?:ción|ção))",
    ),
    (
        "seed",
        ("фраза", "мнемоник", "助", "フレーズ", "니모닉"),
        r"сид[- ]фраза|мнемоника|助记词|助記詞|シードフレーズ|니모닉",
    ),
)
# Alternatives of words, for patterns.
# What stands between such a word and its value, besides marks:
LINKS = (
    "is|was|are|be|now|to|as|e|on|equals|ist|lautet|heißt|war|est|es|son|sont|è|é|jest|är|er|je|это|olan|adalah|là"
    "|คือ|है|هو|هي|.*[是为為は는은이가]"
)
# What follows such a word when it speaks about secrets ("password_hash", "token id") and announces none:
ABOUT = (
    "ids?|names?|hash(?:es|ed|ing)?|digest|checksum|fingerprint|sha|md5|files?|path|dir|url|uri|endpoint|ref|types?"
    "|reference|kind|length|len|size|count|limits?|limiter|ttl|expir\\w+|lifetime|age|policy|policies|reset|fields?|input|label"
    "|placeholder|hint|regex|pattern|format|prefix|suffix|required|enabled|disabled|provider|store|manager|rotation|version"
    "|header|param|budget|usage|arn|location|source|strength|min|max|bucket|ring|vault|generator|validat\\w+|scann\\w+"
    "|detector|factory|bean|encoder|column|env|var|authentication|protected|prompt|callback|handler|service|client|class|schema"
)
# What precedes the identifier of something else:
IDENTIFIER_WORDS = (
    "ids?|uuid|guid|ulid|ksuid|commit|sha\\d*|md5|hash|hashed|digest|checksum|fingerprint|request|trace|span|run|job|build"
    "|channel|ticket|issue|version|tag|branch|pod|container|image|file|path|user|username|host|model|price|product|customer"
    "|order|invoice|bcrypt|argon2\\w*|etag|nonce|serial|sku|isbn|integrity|public"
)
# What makes a token or key something public when it stands before it:
PUBLIC_WORDS = (
    "public|primary|foreign|partition|cache|sort|idempotency|dedup|row|group|object|s3|next|page|continuation|sync|cancel"
    "|cancellation|design|csrf|xsrf|bos|eos|pad|unk|mask|sep|cls|special|num|max|min|publishable|site"
)
# What a value holds, or is, when it only stands for a secret:
PLACEHOLDER_PARTS = (
    "example|sample|dummy|placeholder|change[-_ ]?(?:me|it|this)|redacted|removed|masked|hidden|insert|replace"
    "|your[-_ ]|your(?:api|pass|token|key|secret)|my[-_]?(?:api|pass|token|key|secret|super)|not[-_]?a[-_]?real|fake"
    "|todo|fixme|here\\b|goes[-_]?here|<|…|\\.\\.\\.|\\*\\*\\*|••|x{4,}|0123456|123456789|abcdefgh|deadbeef|foobar|1234abcd"
    "|abcd1234|(?:password|secret)123\\b|supersecret"
    "|ikpvag4grg9l"  # base64 of "John Doe", whom sample JWTs are about
)
PLACEHOLDER_VALUES = (
    "pass(?:word|wd|phrase|code|wort|w0rd|1234)?|pwd|pw|secret|token|key|(?:api|secret)[-_]?key|user(?:name)?|none|null|nil"
    "|undefined|true|false|yes|no|empty|blank|unset|unknown|default|test(?:ing|123)?|foo|bar|baz|qux|abc(?:123)?|xyz|root|guest"
    "|admin(?:123)?|postgres|string|str|text|bytes|value|required|optional|nullable|12345(?:6(?:7(?:8)?)?)?|qwerty|letmein|tbd"
    "|contraseña|motdepasse|senha|clave|пароль|密码|passw(?:oo|0)rd"
)
# Letters and digits that name things: "sha256", "oauth2", "postgres16".
TECHNICAL = (
    "(?:sha|md|aes|rsa|hs|rs|es|ps|utf|base|oauth|argon|scrypt|bcrypt|pbkdf|https?|ipv|ed|x|curve|secp|python|node|java"
    "|mysql|postgres\\w*|redis|v|step|option|phase|version|sprint|fy|room|day|env|db|host|server|user|test|web|level|layer|tls|ssl"
    "|log|vpn|port|gpt|claude|gemini|sonnet|opus|part|chapter|figure|table|appendix|jan|feb|mar|apr|may|june?|july?|aug|sept?"
    "|oct|nov|dec|password|pass|pwd|secret|token|key|admin|windows|debian|ubuntu|keepass|win|ec|s|k|i|h|p|q)\\d{1,4}"
)
# Words of ordinary sentences, which no seed phrase or passphrase is made of:
COMMON_WORDS = (
    "the|and|for|are|was|were|with|that|this|these|those|from|have|has|had|not|but|you|your|our|all|can|will|its|into|they"
    "|them|then|than|when|which|who|what|where|how|why|there|their|about|after|before|should|would|could|must|may|might|never"
    "|always|only|also|just|each|every|any|some|one|two|use|used|uses|stored|kept|safe|inside|share|written|here|does|did"
    "|being|been|because|between|both|more|most|other|such|very|over|under|out|off|per|via|let|get|got|set|see|too|yet|nor"
)
# A letter and one that hardly ever follows it, counted over word lists of nine European languages. Few words have three
# such pairs; strings drawn at random mostly do.
RARE_PAIR = (
    "(?=a[^abcdefghijklmnoprstuvwyz]|b[^abeilorsuy]|c[^acehiklorstuyz]|d[^abdegilnorsuyz]|f[^aefilorstu]"
    "|g[^aeghilnorstu]|h[^aeilmnorstuy]|i[^abcdefgjklmnopqrstuvxz]|j[^aeou]|k[^aeilnorstu]|l[^abcdefghiklmnopstuvy]"
    "|m[^abeilmnopstuy]|n[^abcdefghiklmnorstuvyz]|o[^abcdefghijklmnoprstuvwxyz]|p[^aehiloprstuy]|q[^u]"
    "|r[^abcdefghiklmnoprstuvwyz]|s[^abcdefghiklmnopqrstuvwyz]|t[^abcehijlmnorstuwyz]|u[^abcdefgijklmnoprstz]"
    "|v[^aeior]|w[^aehinorsy]|x[^aeipt]|y[^abcelmnoprstw]|z[^aeinouyz])"
)
