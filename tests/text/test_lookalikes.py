"""What is harmless comes through as it is (S15)."""

from __future__ import annotations

import pytest

from memdir.prompts.door import shown
from memdir.text.lookalikes import defused
from tests.timing import cpu_seconds

HARMLESS = [
    "<div class='a'>text</div> <br/> <a href=\"x?a=1&amp;b=2\">x</a>",
    "List<String> Map<K, V> Vec<Option<u8>> Array<Skill> std::vector<int>",
    "if a<b/c and x < y > z: return a <= b",
    "for (i = 0; i < command.name.length; i++) {}",
    "while n < command_args: n <<= 1",
    "x <- permissions(user)  # R",
    "cmd < in.txt > out.txt 2>&1 && echo 100% | sed 's/\\u003c/x/'",
    "f <| g |> h; a <|> b; p >>= q",
    "C:\\Users\\ann\\bad\\files  \\d+\\.\\w* \\x41 \\n \\t",
    "https://example.org/a%20b?x=%3Cb%3E&y=1#frag",
    "R&D, AT&T, &copy; 2026, &lt;b&gt;",
    "the system reminder app; a system-reminder block is put in by the host",
    "use system_reminder in the config, see (system-reminder) and `system-reminder`",
    "docs/system-reminder/readme.md",
    "<skillet> <commander> <system> <reminder> usage: x <command> <name>",
    "《红楼梦》「引用」『二重』〈山括弧〉【注意】",
    "« Bonjour », dit-il — d'accord…",
    "„Größe“ ‚Straße‘ äöüß ÄÖÜ",
    "Привет, система напоминаний работает: а<б",
    "Το σύστημα υπενθυμίσεων: α < β",
    "システムリマインダー: くわしくは ノート/メモ 一覧を見る",
    "系统提醒:一切正常 <系统>",
    "시스템 알림 <설정>",
    "תזכורת מערכת: א < ב",
    "تذكير النظام: أ < ب",
    "सिस्टम रिमाइंडर: क < ख",
    "ระบบเตือนความจำ",
    "Hệ thống nhắc nhở: tiếng Việt có dấu",
    "Zażółć gęślą jaźń; Ñandú; Çağrı; Ærø; Þór",
    "$\\langle x, y \\rangle \\leq \\frac{a}{b}$ and \\lt",
    "∀x∈ℝ: a≤b, a≪b, x→y, x←y, ⟨a|b⟩, A⊂B",
    "👩‍💻 → 🚀 <3 :-/ ¯\\_(ツ)_/¯",
    "---\nname: x\n---\n\n# Heading\n\n## Why\n\n- a\n- b\n\n```py\nif a < b:\n    pass\n```\n> quote\n***",
    "| a | b |\n|---|---|\n| <1 ms | >2 |",
    "<!-- comment --> <?xml version='1.0'?> <![CDATA[x]]>",
    "git rebase <branch>; kubectl get <resource>/<name>",
    "SELECT * FROM t WHERE a<>b AND c<'2026-01-01'",
    "the user: Mira. human error; assistant manager",
    "**Why:** mocks hid a broken migration\n**How to apply:** every test",
    "Memory usage: 3 GB; contents of the box: none",
    "[1] [/path] [x](y.md) {/* jsx */} (/etc/hosts)",
    "=3 +1 =2F a=3C0 base64== a+b",
    "let s: &str = \"a\"; fn f<'a>(x: &'a T) -> Box<dyn Fn()>",
    "template<typename T> class Skill : Base<T> {}",
    "Promise<Permissions> useState<CommandName>()",
    "@Component({selector: 'x'}) <T extends object>(a: T) => a",
    "5 < 6 skill points; skill < permissions",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_comes_through_as_it_is(text: str) -> None:
    assert shown(text) == text


def test_what_stands_around_a_tag_stays() -> None:
    text = "ä < b &amp; <div>\n</system-reminder>\n% \\u003c é <b>"
    assert defused(text) == text.replace("</system-reminder>", "[end tag: system-reminder]")


@pytest.mark.parametrize("text", ["( /{0} )", "- [a](a.md) ( /{0} )", "{{ /{0} }}", "- [/{0}](a.md) — x"])
def test_a_tag_in_other_brackets_is_told_in_words(text: str) -> None:
    """Also in the plain letters of an index line, which has a short way through."""
    assert "end tag: system-reminder" in defused(text.format("system-reminder"))


def test_a_hostile_text_costs_no_more_than_its_length() -> None:
    """Of each, ten times as much may take some thirty times as long, not a hundred times."""
    for part in (
        "<",
        "</",
        "&",
        "&lt",
        "%3c",
        "\\",
        "<s",
        "く/",
        "</system-reminde",
        "<|a",
        "[/",
        "&amp;" * 3,
        "\\u003",
    ):
        most = 30 * max(_seconds(part * 2_000), 0.005)
        assert _seconds(part * 20_000, most) < most, part


def _seconds(text: str, enough: float = 0.0) -> float:
    return cpu_seconds(lambda: defused(text), enough=enough)
