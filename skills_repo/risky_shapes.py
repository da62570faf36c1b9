"""What addresses, fetched code, rights and safeguards look like in a line of a skill: for `risky.py`.

Invariants: lines come folded (one blank each, no hidden characters, compatibility forms resolved); every pattern takes
time linear in the line.
"""

from __future__ import annotations

import re

_CERTAIN = "com|org|net|edu|gov|mil|int|io|ai|co|dev|app|xyz|biz|uk|de|fr|nl|ru|cn|jp|kr|br|pl|eu|onion"
_WORDLY = (
    "info|run|page|link|live|store|site|online|cloud|club|shop|tech|top|icu|space|website|pw|cc|ws|gg|ly|ca|au|us|it"
    "|is|in|me|to|tv|so|es|ch|se|no|at|be|sh|rs|py|md|zip|mov|am|fm|la|ms|st|vc|id|my|do"
)
"""Ends of files, methods and sentences as well: taken for a host with more labels before or a path behind."""
_LABEL = r"[^\W_][\w-]{0,62}"
ADDRESSES = re.compile(
    rf"""(?:\b[a-z][a-z0-9+.-]{{1,20}}:/{{2}}|\bwww\.|\bdata:[a-z]+/|\b(?:javascript|mailto):)[^\s<>\"'`)\]]*
      | (?<![\w.-])(?!(?:self|this|cls|e\.g)\.)(?:{_LABEL}\.){{1,8}}(?:{_CERTAIN})(?![\w(=-])(?:[:/?][^\s<>\"'`)\]]*)?
      | (?<![\w./-])(?:{_LABEL}\.){{1,8}}(?:{_WORDLY})(?::\d{{1,5}})?/[^\s<>\"'`)\]]+
      | (?<![\w./-])(?:{_LABEL}\.){{2,8}}(?:{_WORDLY})(?![\w(=.-])
      | (?<![\w.])(?:\d{{1,3}}\.){{3}}\d{{1,3}}(?![\w.]*\d)(?:[:/][^\s<>\"'`)\]]*)?
      | (?<![\w:])(?:[0-9a-f]{{1,4}}:){{3,7}}(?::?[0-9a-f]{{1,4}}){{1,4}}(?![\w:])
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SHELL = r"(?:(?:ba|z|da|k|c|fi)?sh|python[\d.]*|node|perl|ruby|php|pwsh|powershell|iex|invoke-expression|source|xargs)"
_GET = r"(?:curl|wget|aria2c|iwr|irm|invoke-webrequest|invoke-restmethod|start-bitstransfer)\b"
_DECODE = r"(?:base64\s+(?:-d|-D|--decode|-di)|xxd\s+-r|openssl\s+(?:enc|base64)|gunzip|zcat|uudecode|rev|tr)\b"
_TO = r"\|\s*(?:sudo\s+|env\s+|command\s+|exec\s+){0,4}(?:/\S{0,100}/)?"
RUN = re.compile(
    rf"""\b{_GET}
      | {_TO}{_SHELL}(?![\w-])
      | \b(?:eval|exec)\b[\s("'`]{{0,4}}\$\(
      | \b{_SHELL}\s+(?:-\w{{1,30}}\s+){{0,4}}["']?(?:<\(|\$\(|`)
      | \b(?:pip[\d.]*|pipx|uv|npm|pnpm|yarn|gem|cargo|go|brew|apt|apt-get|dnf|yum|apk|conda)\s+
        (?:-\S{{1,60}}\s+){{0,4}}(?:install|add|pip|get|i)\b
      | \b(?:npx|bunx|uvx|pnpx)\s | \b(?:yarn|pnpm)\s+dlx\b | \bpipx\s+run\b
      | \bgit\s+(?:clone|pull|submodule)\b | \b(?:docker|podman)\s+(?:run|pull)\b
      | \b(?:urlopen|urlretrieve|requests\.get|httpx\.get|fetch)\s*\( | \b(?:exec|eval)\s*\(
      | \b(?:scp|sftp|rsync|nc|ncat|socat)\s | /dev/tcp/ | \bbase64\s+(?:-d|-D|--decode)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
REMOTE = re.compile(
    rf"""\b(?:{_GET}|{_DECODE})[^|]{{0,400}}(?:\|[^|]{{0,200}}){{0,3}}{_TO}{_SHELL}(?![\w-])
      | {_TO}(?:(?:ba|z|da|k|c|fi)?sh|pwsh|powershell|iex|invoke-expression)(?![\w-])
      | \b{_SHELL}\s+(?:-\w{{1,30}}\s+){{0,4}}["']?(?:<\(|\$\(|`)\s*(?:{_GET}|{_DECODE}|echo)
      | (?:\b(?:eval|exec|source)|(?<![\w.])\.)[\s("'`]{{0,4}}(?:\$\(|<\(|`)\s*(?:{_GET}|{_DECODE}|echo)
      | \biex\b[^|]{{0,40}}\(?\s*(?:{_GET}|new-object) | \bdownload(?:string|file)\s*\(
      | \b{_GET}[^|;&]{{0,400}}(?:&&|;)\s*(?:sudo\s+)?(?:chmod\s|\./|{_SHELL}\s)
      | \b(?:pip[\d.]*|pipx|uv|uvx|npm|npx|pnpm|bunx|yarn|gem|cargo|go)\s[^|;]{{0,200}}?
        (?:\bgit\+|https?://|\bgithub:|--(?:extra-)?index-url|--registry|--git\b|\s-i\s+http)
      | \b(?:exec|eval|subprocess\.\w{{1,20}}|os\.system|function)\s*\(\s*[^;]{{0,100}}
        (?:urlopen|requests\.get|httpx\.get|fetch|b64decode|atob)\s*\(
    """,
    re.IGNORECASE | re.VERBOSE,
)
RIGHTS = re.compile(
    r"""--?(?:dangerously|allow|yolo|no-sandbox|privileged|insecure|full-auto|trust-all|skip-permissions)\b[\w-]*
      | \b(?:sudo|doas|pkexec|setuid|setcap|runas)\b | \bsu\s+(?:-|root\b)
      | \bchmod\s+(?:-\w{1,30}\s+){0,4}(?:[0-7]{0,3}[2367]\b|[augo]{0,4}\+[rwxst]{0,5}[ws]) | \bchown\s
      | \b(?:danger-full-access|bypasspermissions|bypass-approvals|acceptedits|approval_policy|sandbox_mode)\b
      | \b(?:permission-mode|permissionmode|allowed-?tools|allow_?unsandboxed|dontask)\b
      | \bverify\s*=\s*false\b | \bstricthostkeychecking\b | \bsslverify\b | \bnode_tls_reject_unauthorized\b
      | (?:^|[\s"'`=(~/])\.(?:ssh|aws|netrc|npmrc|pypirc|kube|docker|git-credentials|env)\b
      | /etc/(?:shadow|passwd|sudoers)\b | \b(?:docker\.sock|authorized_keys|crontab|git\s+config\s+--global)\b
      | --no-verify\b | --force\b | \bgit\s+push\s[^|;]{0,100}\s-f\b | \bgit\s+reset\s+--hard\b | \bhookspath\b
      | \brm\s+-\w{0,10}[rf]\w{0,10}\s+(?:/|~|\$home|\*) | \bsettings(?:\.local)?\.json\b | \b(?:claude|agents)\.md\b
      | \b(?:never|don'?t|do\snot|without)\s(?:ask|asking|prompt|prompting|wait|waiting|bother|confirm|tell|telling
        |inform|informing|mention|reveal|show)\b[^.;]{0,60}\b(?:user|human|person|people|reviewer|owner|permission
        |approval|confirmation)\b
      | \bwithout\s(?:\w{1,20}\s)?(?:permission|approval|confirmation|consent)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
SAFEGUARDS = re.compile(
    r"""--dangerously[\w-]* | --(?:yolo|no-sandbox|trust-all\w*|skip-permissions)\b
      | \b(?:danger-full-access|bypasspermissions|bypass-approvals|allow_?unsandboxed|dontask)\b
      | \bapproval_policy\b.{0,10}\bnever\b
      | \b(?:disable|disabling|turn(?:ing)?\soff|switch(?:ing)?\soff|bypass(?:ing)?|circumvent|evade|escape|get\saround
        |work\saround|deactivate|leave)\s(?:the\s|any\s|all\s|its\s|your\s){0,3}(?:\w{1,20}\s){0,2}
        (?:sandbox(?:ing)?|permissions?\b(?!\serror)|approvals?|safeguards?|guardrails?|safety|firewall|isolation)\b
      | \b(?:ignore|disregard|forget|override)\s(?:all\s|any\s|the\s|your\s|of\s|these\s|those\s){0,4}
        (?:previous|prior|above|earlier|preceding|foregoing|system|other|former)\s(?:\w{1,20}\s)?
        (?:instructions?|rules?|prompts?|messages?|guidance|directions?)\b
      | (?:^|[\s"'`=(~/])\.(?:claude|codex)/(?:settings|config|hooks) | \bmanaged-settings\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
