"""Names that somebody else may give: to backbones, data sets, classes and files."""

HOSTILE = (
    " =1+1", "=cmd|' /C calc'!A0", "\u200e=1+1", "＝1+1", "@SUM(A1)", "\t=1", "\r=1",
    "\x1b]52;c;ZXZpbA==\x07\x1b[2J", "\x9b31m", "mine\rforged", "mine\nforged,1,2", "mine\u2028forged", "\x7f\x00",
    "\u202etxt.exe", "\u2066x\u2069", "\U000e0041", "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>",
    "javascript:alert(1)", "\\input{/etc/passwd}", "\\write18{id}", "\\end{tabular}", "$x^2$ & % # _ {", "}",
    "@misc{a,", "a|b\\|c", "[a](javascript:alert(1))", "- a: [b]", "!!python/object:os.system", "&a *a",
    "\"quoted\" 'twice'",
)  # fmt: skip
