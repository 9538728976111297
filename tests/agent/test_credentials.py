"""Which paths count as places of credentials, as written, through links, and as patterns (G4)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memdir.agent.bash.shell_paths import may_match_credential
from memdir.agent.file_access import is_credential, leads_to_credential

STORES = """
/home/u/.ssh/id_ed25519 /home/u/.ssh/config /home/u/.gnupg/secring.gpg /home/u/.aws/credentials
/home/u/.aws/sso/cache/x.json
/home/u/.azure/accessTokens.json /home/u/.config/gcloud/credentials.db /home/u/.kube/config /home/u/.docker/config.json
/home/u/.netrc /home/u/_netrc /home/u/.npmrc /home/u/.pypirc /home/u/.git-credentials /home/u/.config/git/credentials
/home/u/.config/gh/hosts.yml /home/u/.config/hub /home/u/.config/glab-cli/config.yml .env .env.local .env.production
config/prod.env .envrc .dev.vars /home/u/.terraform.d/credentials.tfrc.json terraform.tfstate prod.auto.tfvars
/home/u/.vault-token /home/u/.pgpass /home/u/.my.cnf /home/u/.mylogin.cnf /home/u/.cargo/credentials.toml
/home/u/.gem/credentials /home/u/.composer/auth.json /home/u/.m2/settings.xml /home/u/.gradle/gradle.properties
/home/u/.s3cfg /home/u/.config/rclone/rclone.conf /home/u/.heroku/x /home/u/.fly/config.yml
/home/u/.local/share/com.vercel.cli/auth.json /home/u/.config/netlify/config.json /home/u/.wrangler/config/default.toml
/home/u/.config/doctl/config.yaml .vault_pass.txt /home/u/.local/share/keyrings/login.keyring
/Users/u/Library/Keychains/login.keychain-db /home/u/.mozilla/firefox/x.default/logins.json
/home/u/.config/google-chrome/Default/Cookies /home/u/.config/op/config /home/u/.password-store/x.gpg
/home/u/.config/Bitwarden/data.json /home/u/.local/share/gopass/stores/x /home/u/.bitcoin/wallet.dat
/home/u/.bash_history /home/u/.zsh_history /home/u/.python_history /home/u/.psql_history
/home/u/.local/share/fish/fish_history server.pem tls/server.key x.p12 x.pfx x.jks x.keystore x.kdbx x.ovpn deploy_rsa
/etc/shadow /etc/gshadow- /etc/sudoers /etc/sudoers.d/x /proc/1/environ /proc/self/environ
/home/u/.claude/.credentials.json /home/u/.codex/auth.json /home/u/.gemini/oauth_creds.json
/home/u/.config/github-copilot/hosts.json /run/credentials/x.service/key /var/lib/cloud/instance/user-data.txt
/etc/NetworkManager/system-connections/home.nmconnection /etc/wpa_supplicant/wpa_supplicant.conf
/run/secrets/kubernetes.io/serviceaccount/token /home/u/.kaggle/kaggle.json /home/u/.cache/huggingface/token
/home/u/.databrickscfg /etc/krb5.keytab /tmp/krb5cc_1000 client_secret_1.json config/master.key secrets.yml
.yarnrc.yml app/prod.tfvars .env-prod .env_prod prod.env.bak .npmrc.bak id_rsa~ .ssh.bak/id .aws.bak/credentials
server.pem.bak server.key.old keystore.p12.bak .env.swp .pgpass.1 .netrc.gz secrets.yml.orig .netrc-20240101
/home/u/.tsh/keys/x /home/u/.config/filezilla/sitemanager.xml /home/u/.local/share/atuin/key /home/u/.erlang.cookie
/home/u/.passwd-s3fs /etc/postfix/sasl_passwd /etc/gitlab-runner/config.toml .mcp.json .cursor/mcp.json
.codex/config.toml .git/config sub/.git/config /home/u/.bash_history.1 /home/u/.zsh_history.old
/home/u/.local/share/zsh/history /home/u/.modal.toml /home/u/.config/io.datasette.llm/keys.json
/home/u/.config/shell_gpt/.sgptrc k8s/secret-prod.yaml values-secret.yaml secrets.enc.yaml local.settings.json
/home/u/.config/pnpm/rc /home/u/.local/share/uv/credentials/credentials.toml /home/u/.config/rbw/config.json
/home/u/.ENV ID_RSA ./a/../.env .ssh
"""
HARMLESS = """
src/credentials.py docs/env.md docs/keyboard.key.ts .env.example .env.sample .env.production.example id_rsa.pub env.py
environment.yml src/env/index.ts keys.py key.md pem.c tests/test_secrets.py src/secrets/find.py README.md .gitignore
.github/workflows/ci.yml package.json tokens.css monkey.txt history.md git_history.md docs/ssh.md
aws/main.tf .docker/Dockerfile
.config/fish/config.fish .claude/settings.json CLAUDE.md AGENTS.md .aws-sam/build.yaml
passwd /etc/passwd /etc/hosts public.key.md auth.py src/auth.json.ts vault.md certs/README .npmignore .envoy.yaml
.env-example variables.tf prod.tfvars.example secret_santa.yml docs/mcp.md .gitmodules .github/config.yml vite.env.d.ts
"""


@pytest.mark.parametrize("path", STORES.split())
def test_a_store_of_credentials_is_known(path: str) -> None:
    assert is_credential(path)


@pytest.mark.parametrize("path", HARMLESS.split())
def test_a_harmless_look_alike_is_not(path: str) -> None:
    assert not is_credential(path)


def test_a_folder_that_only_shares_the_name_of_a_file_is_none() -> None:
    assert is_credential("lib/credentials")
    assert not is_credential("lib/credentials", is_folder=True)
    assert is_credential("home/.ssh", is_folder=True)


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("x", encoding="utf-8")
    (tmp_path / "notes.txt").symlink_to(".env")
    (tmp_path / "again.txt").symlink_to("notes.txt")
    assert leads_to_credential(os.fspath(tmp_path / "again.txt"))


@pytest.mark.parametrize(
    "pattern", [".[e]nv", ".e*", ".??v", ".[!x]nv", "id_*", "?d_rsa", "*d_rsa", ".ss?/config", "cred*"]
)
def test_a_pattern_that_spells_one_out_is_known(pattern: str) -> None:
    assert may_match_credential(pattern)


@pytest.mark.parametrize("pattern", ["*", ".*", "*.py", "*.json", "*.txt", "src/*", "[a-z]*", "a*", "test_*", "?.md"])
def test_a_broad_pattern_is_left_to_the_disk(pattern: str) -> None:
    assert not may_match_credential(pattern)
