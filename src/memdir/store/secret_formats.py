"""What secrets look like: the formats vendors publish, the commands that take a password, and the words around one.

Data only: nothing here is compiled or run. `secrets.py` tries a row when one of its literals is in the text, so a row
costs a substring search; rows of FORMATS are tried on long words only, and the literals of PLACES are
looked for in lower case. The group that took part in the match, where there is one, is the value; otherwise all of it.
"""

from __future__ import annotations

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# One shell word: quoted either way, or bare. Exactly one of its three groups takes part in a match.
_WORD = r"""(?:"([^"\n]{1,200})"|'([^'\n]{1,200})'|([^\s"'`|;&<>]{1,200}))"""
_ARGUMENTS = r"\s[^\n|;]{0,200}?(?<=\s)"  # whatever a command line says before the option we look for
_NAME_OF_ONE = r"[\w.:-]{0,60}(?:password|passwd|pwd|secret|api_?key|access_?key|token)"

# (kind, literals, pattern). Lengths are ranges around what vendors issue today, because they change without notice.
FORMATS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    # Clouds
    ("aws-access-key", ("AKIA", "ASIA", "ABIA", "ACCA", "A3T"), r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}"),
    ("aws-session-token", ("FwoGZXIvYXdz", "IQoJb3JpZ2lu"), r"(?:FwoGZXIvYXdz|IQoJb3JpZ2lu)[A-Za-z0-9/+=]{40,}"),
    ("aws-bedrock-key", ("ABSK",), r"ABSK[A-Za-z0-9+/]{80,}={0,2}"),
    ("aws-bedrock-key", ("bedrock-api-key-",), r"bedrock-api-key-[A-Za-z0-9+/=]{30,}"),
    ("aws-mws-key", ("amzn.mws.",), rf"amzn\.mws\.{_UUID}"),
    ("aws-appsync-key", ("da2-",), r"da2-[a-z0-9]{26}"),
    ("amazon-client-secret", ("amzn1.oa2-cs.",), r"amzn1\.oa2-cs\.v1\.[0-9a-f]{64}"),
    ("amazon-login-token", ("Atzr|", "Atza|"), r"Atz[ar]\|[A-Za-z0-9_-]{40,}"),
    ("presigned-url", ("X-Amz-Signature=", "X-Goog-Signature="), r"X-(?:Amz|Goog)-Signature=([0-9a-f]{64,})"),
    ("google-api-key", ("AIza",), r"AIza[A-Za-z0-9_-]{32,40}"),
    ("google-api-key", ("AQ.Ab",), r"AQ\.Ab[A-Za-z0-9_-]{30,}"),
    ("google-client-secret", ("GOCSPX-",), r"GOCSPX-[A-Za-z0-9_-]{20,40}"),
    ("google-access-token", ("ya29.",), r"ya29\.[A-Za-z0-9_-]{20,}"),
    ("google-refresh-token", ("1//0",), r"1//0[A-Za-z0-9_-]{30,}"),
    ("google-oauth-code", ("4/0A",), r"4/0A[A-Za-z0-9_-]{30,}"),
    ("google-hmac-key", ("GOOG1",), r"GOOG1[A-Z0-9]{19,60}"),
    ("firebase-server-key", ("AAAA",), r"AAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{100,}"),
    ("azure-client-secret", ("Q~",), r"[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{30,36}"),
    ("azure-ai-key", ("JQQJ9",), r"[A-Za-z0-9]{45,60}JQQJ9[A-Za-z0-9]{20,30}"),
    ("azure-devops-token", ("AZDO",), r"[A-Za-z0-9]{70,80}AZDO[A-Za-z0-9]{4}"),
    ("azure-search-key", ("AzSe",), r"[A-Za-z0-9]{40,46}AzSe[A-Z][A-Za-z0-9]{5}"),
    ("azure-function-key", ("AzFu",), r"[A-Za-z0-9_-]{40,46}AzFu[A-Za-z0-9_-]{4,8}={0,2}"),
    ("azure-registry-key", ("+ACR",), r"[A-Za-z0-9+/]{42,44}\+ACR[A-Za-z0-9]{4,8}"),
    ("azure-cosmos-key", ("ACDb",), r"[A-Za-z0-9+/]{70,80}ACDb[A-Za-z0-9+/]{4,8}={0,2}"),
    ("alibaba-access-key", ("LTAI",), r"LTAI[A-Za-z0-9]{16,26}"),
    ("tencent-secret-id", ("AKID",), r"AKID[A-Za-z0-9]{32}"),
    ("volcengine-access-key", ("AKLT",), r"AKLT[A-Za-z0-9_=-]{30,}"),
    ("baidu-api-key", ("bce-v3/",), r"bce-v3/ALTAK-[A-Za-z0-9]{16,24}/[0-9a-f]{40}"),
    ("yandex-api-key", ("AQVN",), r"AQVN[A-Za-z0-9_-]{30,40}"),
    ("yandex-token", ("y0_",), r"y0_[A-Za-z0-9_-]{40,}"),
    ("yandex-token", ("t1.",), r"t1\.[A-Za-z0-9_-]{7,}={0,2}\.[A-Za-z0-9_-]{80,90}={0,2}"),
    ("scaleway-access-key", ("SCW",), r"SCW[A-Z0-9]{17}"),
    ("digitalocean-token", ("_v1_",), r"do[opr]_v1_[0-9a-f]{64}"),
    ("digitalocean-spaces-key", ("DO00",), r"DO00[A-Z0-9]{16}"),
    ("heroku-key", ("HRKU-",), r"HRKU-[A-Za-z0-9_-]{30,}"),
    ("fly-token", ("fo1_",), r"fo1_[A-Za-z0-9_-]{40,}"),
    ("fly-token", ("fm1", "fm2"), r"fm[12][ar]?_[A-Za-z0-9+/=_-]{60,}"),
    ("render-key", ("rnd_",), r"rnd_[A-Za-z0-9]{24,}"),
    ("netlify-token", ("nf",), r"nf[pcoub]_[A-Za-z0-9]{36,}"),
    ("vercel-token", ("vcp_", "vci_", "vca_", "vcr_", "vck_"), r"vc[piark]_[A-Za-z0-9]{24,}"),
    ("vercel-blob-token", ("vercel_blob_rw_",), r"vercel_blob_rw_[A-Za-z0-9_]{30,}"),
    ("cloudflare-origin-key", ("v1.0-",), r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}"),
    ("cloudflare-token", ("cfut_", "cfat_", "cfk_"), r"cf(?:ut|at|k)_[A-Za-z0-9]{30,}"),
    ("deno-token", ("ddp_", "ddw_", "ddo_"), r"dd[pwo]_[A-Za-z0-9]{36}"),
    ("supabase-key", ("sbp_", "sb_secret_"), r"(?:sbp_(?:oauth_)?[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,})"),
    ("planetscale-token", ("pscale_",), r"pscale_(?:tkn|pw|oauth|app)_[A-Za-z0-9=._-]{32,64}"),
    ("neon-key", ("napi_", "npg_"), r"(?:napi_[a-z0-9]{50,}|npg_[A-Za-z0-9]{12,})"),
    ("mongodb-atlas-secret", ("mdb_sa_sk_",), r"mdb_sa_sk_[A-Za-z0-9_-]{30,}"),
    ("cockroach-key", ("CCDB1_",), r"CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40}"),
    ("databricks-token", ("dapi", "dose"), r"(?:dapi|dose)[0-9a-f]{32}(?:-\d)?"),
    ("confluent-secret", ("cflt",), r"cflt[A-Za-z0-9+/]{50,}"),
    ("dbt-token", ("dbtu_", "dbtc_"), r"dbt[uc]_[A-Za-z0-9=_-]{30,}"),
    ("xata-key", ("xau_",), r"xau_[A-Za-z0-9]{30,}"),
    ("fauna-key", ("fnA",), r"fnA[A-Za-z0-9_-]{35,40}"),
    ("tinybird-token", ("p.eyJ",), r"p\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}"),
    ("appwrite-key", ("standard_",), r"standard_[0-9a-f]{200,}"),
    ("akamai-token", ("akab-",), r"akab-[a-z0-9]{16}-[a-z0-9]{16}"),
    ("upcloud-token", ("ucat_",), r"ucat_[A-Z0-9]{26}"),
    # Vaults and infrastructure
    ("vault-token", ("hvs.", "hvb.", "hvr."), r"hv[sbr]\.[A-Za-z0-9_-]{20,}"),
    ("vault-token", ("",), r"s\.[A-Za-z0-9]{24}"),
    ("terraform-token", (".atlasv1.",), r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{50,}"),
    ("doppler-token", ("dp.",), r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}"),
    ("pulumi-token", ("pul-",), r"pul-[0-9a-f]{40}"),
    ("infisical-token", ("st.",), r"st\.[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}"),
    ("1password-token", ("ops_eyJ",), r"ops_eyJ[A-Za-z0-9+/_-]{40,}={0,3}"),
    ("1password-secret-key", ("A3-",), r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("bitwarden-token", ("",), rf"0\.{_UUID}\.[A-Za-z0-9]{{30}}:[A-Za-z0-9+/]{{22}}=="),
    ("tailscale-key", ("tskey-",), r"tskey-[a-z]{2,10}-[A-Za-z0-9]{6,}(?:-[A-Za-z0-9]{16,})?"),
    ("harness-token", ("pat.", "sat."), r"[ps]at\.[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    ("openshift-token", ("sha256~",), r"sha256~[A-Za-z0-9_-]{43}"),
    ("rancher-token", ("token-",), r"token-[a-z0-9]{5}:[a-z0-9]{54}"),
    ("portainer-token", ("ptr_",), r"ptr_[A-Za-z0-9/+]{40,}={0,2}"),
    ("ngrok-token", ("",), r"2[A-Za-z0-9]{26}_[0-9][A-Za-z0-9]{20}"),
    ("age-key", ("AGE-SECRET-KEY-",), r"AGE-SECRET-KEY-1[A-Z0-9]{50,60}"),
    # Code hosting, packages, build
    ("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    ("github-token", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{40,255}"),
    ("gitlab-token", ("glpat-",), r"glpat-[A-Za-z0-9_.-]{20,}"),
    (
        "gitlab-token",
        ("gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "glsoat-", "glffct-", "gloas-"),
        r"gl(?:dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct|oas)-[A-Za-z0-9_.-]{18,}",
    ),
    ("gitlab-runner-token", ("GR1348941",), r"GR1348941[A-Za-z0-9_-]{20,}"),
    ("gitlab-session", ("_gitlab_session=",), r"_gitlab_session=([0-9a-z]{32})"),
    ("atlassian-token", ("ATATT3", "ATCTT3"), r"AT[AC]TT3[A-Za-z0-9_=-]{50,}"),
    ("bitbucket-token", ("ATBB", "BBDC-"), r"(?:ATBB[A-Za-z0-9]{24,40}|BBDC-[A-Za-z0-9+/@_-]{40,50})"),
    ("trello-token", ("ATTA",), r"ATTA[0-9a-f]{60,}"),
    ("sourcegraph-token", ("sgp_", "slk_"), r"(?:sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}|slk_[0-9a-f]{64})"),
    ("segment-token", ("sgp_",), r"sgp_[A-Za-z0-9]{60,64}"),
    ("npm-token", ("npm_",), r"npm_[A-Za-z0-9]{30,}"),
    ("pypi-token", ("pypi-",), r"pypi-[A-Za-z0-9_-]{50,}"),
    ("rubygems-key", ("rubygems_",), r"rubygems_[0-9a-f]{48}"),
    ("crates-token", ("cio",), r"cio[A-Za-z0-9]{32}"),
    ("nuget-key", ("oy2",), r"oy2[a-z0-9]{43}"),
    ("clojars-token", ("CLOJARS_",), r"CLOJARS_[a-z0-9]{60}"),
    ("packagist-token", ("packagist_",), r"packagist_[ou][ru]t_[0-9a-f]{60,}"),
    ("docker-token", ("dckr_",), r"dckr_[po]at_[A-Za-z0-9_-]{20,}"),
    ("jfrog-key", ("AKCp",), r"AKCp[A-Za-z0-9]{60,}"),
    ("jfrog-token", ("cmVmdGtu",), r"cmVmdGtuOj[A-Za-z0-9]{50,}"),
    ("circleci-token", ("CCIP",), r"CCIP(?:AT|RJ)_[A-Za-z0-9]{10,}_[0-9a-f]{40}"),
    ("buildkite-token", ("bkua_", "bkia_", "bkat_"), r"bk(?:ua|ia|at)_[0-9a-z]{40}"),
    ("sonar-token", ("sqp_", "squ_", "sqa_"), r"sq[pua]_[0-9a-f]{40}"),
    ("snyk-token", ("snyk_",), r"snyk_(?:sat|uat)\.[A-Za-z0-9]{8}\.[A-Za-z0-9._-]{30,}"),
    ("launchdarkly-key", ("sdk-", "api-"), rf"(?:sdk|api)-{_UUID}"),
    ("statsig-key", ("secret-",), r"secret-[A-Za-z0-9]{40,}"),
    ("postman-key", ("PMAK-", "PMAT-"), r"PM(?:AK-[0-9a-f]{24}-[0-9a-f]{34}|AT-[0-9A-Z]{26})"),
    ("rapidapi-key", ("msh",), r"[a-z0-9]{10}msh[a-z0-9]{15}p1[a-z0-9]{6}jsn[a-z0-9]{12}"),
    ("readme-key", ("rdme_",), r"rdme_[a-z0-9]{60,}"),
    ("prefect-key", ("pnu_", "pnb_"), r"pn[ub]_[A-Za-z0-9]{36}"),
    ("trigger-key", ("tr_",), r"tr_(?:dev|prod|stg|pat)_[A-Za-z0-9]{20,}"),
    ("inngest-key", ("signkey-",), r"signkey-[a-z]{3,10}-[0-9a-f]{32,64}"),
    ("zuplo-key", ("zpka_",), r"zpka_[A-Za-z0-9_]{20,}"),
    ("authress-key", ("authress_", "scauth_"), r"(?:authress|scauth)_[a-z0-9]{5,30}\.[A-Za-z0-9._+/=-]{40,}"),
    # Watching
    ("sentry-token", ("sntrys_", "sntryu_"), r"sntry(?:s_eyJ[A-Za-z0-9_+/=-]{40,}|u_[0-9a-f]{64})"),
    ("newrelic-key", ("NRAK-", "NRII-", "NRJS-", "NRRA-"), r"NR(?:AK|II|JS|RA)-[A-Za-z0-9_-]{19,48}"),
    ("newrelic-key", ("NRAL",), r"[0-9a-f]{36}NRAL"),
    ("datadog-key", ("ddapp_", "ddapi_"), r"dd(?:app|api)_[A-Za-z0-9]{30,}"),
    ("grafana-token", ("glc_",), r"glc_[A-Za-z0-9+/]{30,}={0,2}"),
    ("grafana-token", ("glsa_",), r"glsa_[A-Za-z0-9]{30,34}_[0-9a-f]{8}"),
    ("grafana-token", ("eyJrIjoi",), r"eyJrIjoi[A-Za-z0-9+/]{40,}={0,2}"),
    ("dynatrace-token", ("dt0",), r"dt0[a-z]\d{2}\.[A-Z0-9]{8,24}\.[A-Z0-9]{64}"),
    ("honeycomb-key", ("hca", "hcb", "hcc", "hcd", "hcx"), r"hc[abcdx][a-z]{1,2}_[a-z0-9]{26,}"),
    ("honeybadger-key", ("hbp_", "hbt_"), r"hb[pt]_[A-Za-z0-9]{30,}"),
    ("posthog-key", ("phx_", "phs_"), r"ph[xs]_[A-Za-z0-9_]{40,}"),
    ("pagerduty-token", ("pdus+", "u+"), r"(?:pdus\+_[A-Za-z0-9_-]{20,}|u\+[A-Za-z0-9_+-]{18})"),
    ("axiom-token", ("xaat-", "xapt-"), rf"xa[ap]t-{_UUID}"),
    ("checkly-key", ("cu_",), r"cu_[0-9a-f]{32}"),
    # Messages and mail
    (
        "slack-token",
        ("xoxb-", "xoxp-", "xoxa-", "xoxo-", "xoxs-", "xoxr-", "xoxc-", "xoxd-"),
        r"xox[bpaosrcd]-[A-Za-z0-9%/+-]{20,}",
    ),
    ("slack-token", ("xoxe",), r"xoxe(?:\.xox[bp])?-\d-[A-Za-z0-9]{40,}"),
    ("slack-app-token", ("xapp-",), r"xapp-\d-[A-Z0-9]{6,}-\d{6,}-[0-9a-f]{40,}"),
    (
        "slack-webhook",
        ("hooks.slack.com/",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_+-]{20,})",
    ),
    (
        "discord-webhook",
        ("webhooks/",),
        r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/(\d{15,21}/[A-Za-z0-9_-]{40,})",
    ),
    ("discord-token", ("",), r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25,45}"),
    ("discord-token", ("mfa.",), r"mfa\.[A-Za-z0-9_-]{80,}"),
    ("teams-webhook", (".webhook.office.com/",), r"\.webhook\.office\.com/webhookb2/([A-Za-z0-9@/-]{60,})"),
    ("telegram-token", (":A",), r"\d{8,10}:A[A-Za-z0-9_-]{32,36}"),
    ("matrix-token", ("syt_",), r"syt_[A-Za-z0-9+/=]{2,}_[A-Za-z]{20}_[A-Za-z0-9]{6}"),
    ("zapier-webhook", ("hooks.zapier.com/",), r"hooks\.zapier\.com/hooks/catch/(\d{4,}/[A-Za-z0-9]{5,})"),
    (
        "ifttt-key",
        ("maker.ifttt.com/",),
        r"maker\.ifttt\.com/trigger/[A-Za-z0-9_-]{1,60}/(?:json/)?with/key/([A-Za-z0-9_-]{15,})",
    ),
    ("twilio-key", ("SK",), r"SK[0-9a-f]{32}"),
    ("sendgrid-key", ("SG.",), r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30,64}"),
    ("mailgun-key", ("key-",), r"key-[0-9a-f]{32}"),
    ("mailgun-key", ("",), r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}"),
    ("mailchimp-key", ("-us",), r"[0-9a-f]{32}-us\d{1,2}"),
    ("mandrill-key", ("md-",), r"md-[A-Za-z0-9_-]{22}"),
    ("brevo-key", ("xkeysib-", "xsmtpsib-"), r"x(?:keysib|smtpsib)-[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    ("resend-key", ("re_",), r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    ("pubnub-secret", ("sec-c-",), r"sec-c-[A-Za-z0-9-]{36,}"),
    ("onesignal-key", ("os_v2_",), r"os_v2_(?:app|org)_[a-z2-7]{50,}"),
    ("ably-key", ("",), r"[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{6}:[A-Za-z0-9_-]{43}"),
    # Work
    ("hubspot-token", ("pat-na", "pat-eu", "pat-ap"), rf"pat-(?:na|eu|ap)\d-{_UUID}"),
    ("salesforce-token", ("00D",), r"00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{60,}"),
    ("intercom-token", ("dG9rO",), r"dG9rO[A-Za-z0-9+/]{40,}={0,2}"),
    ("airtable-token", ("pat",), r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ("notion-token", ("ntn_",), r"ntn_[A-Za-z0-9]{40,}"),
    ("notion-token", ("secret_",), r"secret_[A-Za-z0-9]{43}"),
    ("linear-key", ("lin_api_", "lin_oauth_", "lin_wh_"), r"lin_(?:api|oauth|wh)_[A-Za-z0-9]{32,}"),
    ("asana-token", ("",), r"[12]/\d{10,}(?:/\d{10,})?:[0-9a-f]{32}"),
    ("clickup-token", ("pk_",), r"pk_\d{5,10}_[A-Z0-9]{32}"),
    ("klaviyo-key", ("pk_",), r"pk_[0-9a-f]{34}"),
    ("figma-token", ("figd_", "figu", "figo", "figdr_"), r"fig(?:d|dr|u|ur|oh|or)_[A-Za-z0-9_-]{30,}"),
    ("dropbox-token", ("sl.",), r"sl\.(?:u\.)?[A-Za-z0-9_-]{60,}"),
    ("contentful-token", ("CFPAT-",), r"CFPAT-[A-Za-z0-9_-]{40,}"),
    ("sanity-token", ("",), r"sk[A-Za-z0-9]{78,}"),
    ("typeform-token", ("tfp_",), r"tfp_[A-Za-z0-9_.-]{40,}"),
    ("calcom-key", ("cal_",), r"cal_(?:live|test)_[A-Za-z0-9]{20,}"),
    ("n8n-key", ("n8n_api_",), r"n8n_api_[A-Za-z0-9]{30,}"),
    ("retool-key", ("retool_",), r"retool_[A-Za-z0-9]{20,}"),
    ("metabase-key", ("mb_",), r"mb_[A-Za-z0-9+/]{40,}={0,2}"),
    ("frameio-token", ("fio-u-",), r"fio-u-[A-Za-z0-9_=-]{50,}"),
    ("wakatime-key", ("waka_",), rf"waka_{_UUID}"),
    ("adobe-secret", ("p8e-",), r"p8e-[A-Za-z0-9_-]{32}"),
    ("stytch-secret", ("secret-test-", "secret-live-"), r"secret-(?:test|live)-[A-Za-z0-9_=-]{32,}"),
    ("mapbox-token", ("sk.eyJ",), r"sk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}"),
    ("facebook-token", ("EAA",), r"EAA[A-Za-z0-9]{80,}"),
    ("facebook-app-token", ("",), r"\d{13,17}\|[A-Za-z0-9_-]{27}"),
    ("instagram-token", ("IGQ", "IGAA"), r"IG(?:Q|AA)[A-Za-z0-9_-]{80,}"),
    ("twitter-token", ("AAAAAAAAAA",), r"AAAAAAAAAAAAAAAAAAAA[A-Za-z0-9%]{60,}"),
    ("pinterest-token", ("pina_",), r"pina_[A-Z0-9]{80,}"),
    ("linkedin-secret", ("WPL_AP",), r"WPL_AP\d\.[A-Za-z0-9=.]{16,}"),
    # Money
    ("stripe-key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"), r"[sr]k_(?:live|test)_[A-Za-z0-9_]{16,}"),
    ("webhook-secret", ("whsec_",), r"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    ("square-token", ("sq0atp-", "sq0csp-"), r"sq0(?:atp|csp)-[A-Za-z0-9_-]{20,}"),
    ("square-token", ("EAAA",), r"EAAA[A-Za-z0-9_-]{60}"),
    ("paypal-token", ("access_token$",), r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    ("razorpay-key", ("rzp_",), r"rzp_(?:live|test)_[A-Za-z0-9]{14,}"),
    ("plaid-token", ("access-",), rf"access-(?:sandbox|development|production)-{_UUID}"),
    ("flutterwave-key", ("FLWSECK",), r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?"),
    ("mollie-key", ("live_", "test_"), r"(?<!_)(?:live|test)_[A-Za-z0-9]{30,}"),
    ("gocardless-token", ("live_", "sandbox_"), r"(?<!_)(?:live|sandbox)_[A-Za-z0-9_-]{40}"),
    (
        "shopify-token",
        ("shpat_", "shpca_", "shppa_", "shpss_", "shpua_", "shptka_"),
        r"shp(?:at|ca|pa|ss|ua|tka)_[0-9a-fA-F]{32}",
    ),
    ("easypost-key", ("EZAK", "EZTK"), r"EZ[AT]K[A-Za-z0-9]{54}"),
    ("shippo-token", ("shippo_",), r"shippo_(?:live|test)_[0-9a-f]{40}"),
    ("duffel-token", ("duffel_",), r"duffel_(?:live|test)_[A-Za-z0-9_=-]{40,}"),
    ("paddle-key", ("pdl_",), r"pdl_(?:live|sdbx)_[A-Za-z0-9_]{40,}"),
    ("blockfrost-key", ("mainnet", "preprod", "preview"), r"(?:mainnet|preprod|preview)[A-Za-z0-9]{32}"),
    ("bitcoin-key", ("",), r"(?:5[HJK][1-9A-HJ-NP-Za-km-z]{49}|[KL][1-9A-HJ-NP-Za-km-z]{51})"),
    ("wallet-key", ("prv",), r"[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{100,}"),
    ("nostr-key", ("nsec1",), r"nsec1[a-z0-9]{58}"),
    # Models and what is built on them
    ("anthropic-key", ("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{20,}"),
    (
        "openai-key",
        ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"),
        r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}",
    ),
    ("openai-key", ("T3BlbkFJ",), r"sk-[A-Za-z0-9_-]{16,}T3BlbkFJ[A-Za-z0-9_-]{16,}"),
    ("openai-session", ("sess-",), r"sess-[A-Za-z0-9]{40}"),
    ("openrouter-key", ("sk-or-",), r"sk-or-(?:v\d-)?[0-9a-f]{32,}"),
    ("langfuse-key", ("sk-lf-",), rf"sk-lf-{_UUID}"),
    ("helicone-key", ("sk-helicone-",), r"sk-helicone-(?:[a-z]{2,6}-)?[A-Za-z0-9-]{20,}"),
    ("letta-key", ("sk-let-",), r"sk-let-[A-Za-z0-9+/=]{30,}"),
    ("model-key", ("sk-",), r"sk-(?:[a-z0-9]{2,10}-){0,2}[A-Za-z0-9]{30,}"),
    ("model-key", ("sk_",), r"sk_(?:[a-z0-9]{2,10}_){0,2}[A-Za-z0-9]{24,}"),
    ("groq-key", ("gsk_",), r"gsk_[A-Za-z0-9]{40,}"),
    ("xai-key", ("xai-",), r"xai-[A-Za-z0-9_-]{40,}"),
    ("perplexity-key", ("pplx-",), r"pplx-[A-Za-z0-9]{32,}"),
    ("huggingface-token", ("hf_", "api_org_"), r"(?:hf|api_org)_(?:oauth_)?[A-Za-z0-9]{30,}"),
    ("replicate-token", ("r8_",), r"r8_[A-Za-z0-9]{30,}"),
    ("fireworks-key", ("fw_", "fpk_"), r"(?:fw|fpk)_[A-Za-z0-9]{22,}"),
    ("together-key", ("tgp_v1_",), r"tgp_v1_[A-Za-z0-9_-]{40,}"),
    ("cerebras-key", ("csk-",), r"csk-[a-z0-9]{40,}"),
    ("nvidia-key", ("nvapi-",), r"nvapi-[A-Za-z0-9_-]{40,}"),
    ("voyage-key", ("pa-", "al-"), r"(?:pa|al)-[A-Za-z0-9_-]{43}"),
    ("jina-key", ("jina_",), r"jina_[A-Za-z0-9_-]{40,}"),
    ("tavily-key", ("tvly-",), r"tvly-(?:dev-|prod-)?[A-Za-z0-9_-]{20,}"),
    ("firecrawl-key", ("fc-",), r"fc-[0-9a-f]{32}"),
    ("pinecone-key", ("pcsk_",), r"pcsk_[A-Za-z0-9]{4,10}_[A-Za-z0-9]{40,}"),
    ("langsmith-key", ("lsv2_", "ls__"), r"ls(?:v2_(?:pt|sk)|_)_[0-9a-f]{32}(?:_[0-9a-f]{10})?"),
    ("wandb-key", ("wandb_v1_",), r"wandb_v1_[A-Za-z0-9_]{40,}"),
    ("e2b-key", ("e2b_",), r"e2b_[0-9a-f]{40}"),
    ("modal-token", ("ak-", "as-"), r"a[ks]-[A-Za-z0-9]{22}"),
    ("runpod-key", ("rpa_",), r"rpa_[A-Z0-9]{40,}[a-z0-9]{0,8}"),
    ("anyscale-key", ("esecret_", "aph0_"), r"(?:esecret|aph0)_[A-Za-z0-9]{20,}"),
    ("cursor-key", ("crsr_", "key_"), r"(?:crsr|key)_[0-9a-f]{64}"),
    ("mem0-key", ("m0-",), r"m0-[A-Za-z0-9]{36,}"),
    ("dify-key", ("app-", "dataset-"), r"(?:app|dataset)-[A-Za-z0-9]{24}"),
    ("coze-token", ("pat_", "sat_"), r"[ps]at_[A-Za-z0-9]{60,}"),
    ("zhipu-key", ("",), r"[0-9a-f]{32}\.[A-Za-z0-9]{16}"),
    ("llamacloud-key", ("llx-",), r"llx-[A-Za-z0-9]{40,}"),
    ("nomic-key", ("nk-",), r"nk-[A-Za-z0-9_-]{43}"),
    ("upstage-key", ("up_",), r"up_[A-Za-z0-9]{28,}"),
    ("friendli-token", ("flp_",), r"flp_[A-Za-z0-9]{40,}"),
    ("chutes-key", ("cpk_",), r"cpk_[0-9a-f]{32}\.[0-9a-f]{32}\.[A-Za-z0-9]{32}"),
    ("featherless-key", ("rc_",), r"rc_[0-9a-f]{64}"),
    ("llama-api-key", ("LLM|",), r"LLM\|\d{10,}\|[A-Za-z0-9_-]{20,}"),
    ("browserbase-key", ("bb_live_", "bb_test_"), r"bb_(?:live|test)_[A-Za-z0-9_-]{20,}"),
    ("apify-token", ("apify_api_",), r"apify_api_[A-Za-z0-9]{30,}"),
    ("brave-key", ("BSA",), r"BSA[A-Za-z0-9_-]{26,29}"),
    ("kaggle-token", ("KGAT_",), r"KGAT_[0-9a-f]{32}"),
    ("deepl-key", (":fx",), rf"{_UUID}:fx"),
    ("fal-key", ("",), rf"{_UUID}:[0-9a-f]{{32}}"),
    # Shapes that many vendors share
    ("jwt", ("eyJ",), r"eyJ[A-Za-z0-9_-]{8,}={0,2}\.eyJ[A-Za-z0-9_-]{8,}={0,2}\.[A-Za-z0-9_-]{16,}"),
    (
        "jwt",
        ("eyJ",),
        r"eyJ[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}",
    ),
    (
        "api-key",
        ("_live_", "_prod_", "_secret_", "_token_", "_apikey_", "_pat_", "_sk_"),
        r"(?!pk_)[a-z][a-z0-9]{1,11}_(?:live|prod|secret|token|apikey|pat|sk)_(?:[a-z0-9]{2,8}_)?[A-Za-z0-9]{24,}",
    ),
)

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
