#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Is it text of the OpenMetrics 1.0 exposition format? Strict: what the standard says
SHOULD be counts as MUST.

usage: openmetrics.py [FILE]            says what is wrong, with the line; exit 1
       openmetrics.py --value NAME[{LABEL=VALUE,…}] [FILE]   the value of one sample
       openmetrics.py --self            TAP: are bad texts told from good ones?

As a module: parse(text) returns {(name, ((label, value), …)): value}, or raises Bad.
"""
import math
import re
import sys

TYPES = {"gauge", "counter", "histogram", "info", "stateset", "summary",
         "gaugehistogram", "unknown"}
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")
NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
INT = re.compile(r"[0-9]+\Z")
SUFFIXES = {
    "gauge": {""}, "unknown": {""}, "stateset": {""}, "info": {"_info"},
    "counter": {"_total", "_created"},
    "histogram": {"_bucket", "_count", "_sum", "_created"},
    "summary": {"", "_count", "_sum", "_created"},
    "gaugehistogram": {"_bucket", "_gcount", "_gsum"},
}


class Bad(Exception):
    pass


def number(text):
    if text in ("+Inf", "-Inf", "NaN"):
        return float(text.replace("Inf", "inf"))
    if not NUMBER.match(text):
        raise Bad(f"{text!r} is no number")
    return float(text)


def escaped(text, what):
    """Undo the escapes; nothing else may follow a backslash."""
    out, i = [], 0
    while i < len(text):
        c = text[i]
        if c == "\\":
            i += 1
            if i == len(text) or text[i] not in '\\"n':
                raise Bad(f"{what}: a backslash before neither \\, \" nor n")
            c = "\n" if text[i] == "n" else text[i]
        elif c == '"':
            raise Bad(f"{what}: a quote that is not escaped")
        out.append(c)
        i += 1
    return "".join(out)


def labels(text):
    """The text between braces; no blanks, no trailing comma."""
    found, at = {}, 0
    while text:
        m = re.compile(r'([^=]*)="((?:[^"\\]|\\.)*)"').match(text, at)
        if not m:
            raise Bad(f"labels {{{text}}} cannot be read")
        name = m.group(1)
        if not LABEL.match(name) or name.startswith("__"):
            raise Bad(f"{name!r} is no name of a label")
        if name in found:
            raise Bad(f"label {name} is there twice")
        found[name] = escaped(m.group(2), f"label {name}")
        at = m.end()
        if at == len(text):
            break
        if text[at] != "," or at + 1 == len(text):
            raise Bad(f"labels {{{text}}}: a comma must stand between two, and nowhere else")
        at += 1
    return found


def split_sample(line):
    """name, labels, rest"""
    m = re.match(r"[^ {]+", line)
    if not m:
        raise Bad("a sample without a name")
    name, rest = m.group(0), line[m.end():]
    found = {}
    if rest.startswith("{"):
        i, quoted = 1, False
        while i < len(rest) and (quoted or rest[i] != "}"):
            if quoted and rest[i] == "\\":
                i += 1
            elif rest[i] == '"':
                quoted = not quoted
            i += 1
        if i >= len(rest):
            raise Bad("labels without an end")
        found = labels(rest[1:i])
        rest = rest[i + 1:]
    if not NAME.match(name):
        raise Bad(f"{name!r} is no name of a metric")
    return name, found, rest


class Family:
    def __init__(self, name):
        self.name, self.type, self.unit, self.help = name, None, None, None
        self.samples = {}
        self.groups = []  # of labels, in order: samples of one must stand together
        self.bucket = {}  # group -> [(le, count)]

    def meta(self, key, value):
        if self.samples:
            raise Bad(f"# {key} {self.name} after its samples")
        if key == "TYPE":
            if self.type is not None:
                raise Bad(f"a second # TYPE of {self.name}")
            if value not in TYPES:
                raise Bad(f"{value!r} is no type")
            self.type = value
        elif key == "UNIT":
            if self.unit is not None:
                raise Bad(f"a second # UNIT of {self.name}")
            if not re.match(r"[a-zA-Z0-9_:]+\Z", value) or not self.name.endswith("_" + value):
                raise Bad(f"{self.name} does not end in its unit {value!r}")
            self.unit = value
        else:
            if self.help is not None:
                raise Bad(f"a second # HELP of {self.name}")
            if not value:
                raise Bad(f"an empty # HELP of {self.name}")
            self.help = escaped(value.replace('"', '\\"') if '\\"' not in value else value, "help")

    def add(self, name, found, text):
        suffix = name[len(self.name):]
        if self.type is None or self.help is None:
            raise Bad(f"{self.name} has a sample before its type and help")
        if suffix not in SUFFIXES[self.type]:
            raise Bad(f"{name}: a {self.type} has no {suffix or 'bare'} sample")
        value = number(text)
        key = (name, tuple(sorted(found.items())))
        if key in self.samples:
            raise Bad(f"{name} {dict(found)} is there twice")
        group = tuple(sorted((k, v) for k, v in found.items()
                             if k != {"histogram": "le", "summary": "quantile"}.get(self.type)))
        if group in self.groups and self.groups[-1] != group:
            raise Bad(f"{name}: samples of the same labels do not stand together")
        if group not in self.groups:
            self.groups.append(group)
        self.check(name, suffix, found, text, value, group)
        self.samples[key] = value

    def check(self, name, suffix, found, text, value, group):
        if suffix in ("_total", "_count", "_sum", "_bucket") and not value >= 0:
            raise Bad(f"{name} is {text}, and must not be below 0 or NaN")
        if suffix in ("_count", "_bucket") and not INT.match(text):
            raise Bad(f"{name} is {text}, and must be a whole number")
        if suffix == "_info" and value != 1:
            raise Bad(f"{name} is {text}: that of an info is 1")
        if (suffix == "_bucket") != ("le" in found):
            raise Bad(f"{name}: le belongs to buckets, and to them alone")
        if suffix != "_bucket":
            return
        le = number(found["le"])
        if le != math.inf and "." not in found["le"] and "e" not in found["le"]:
            raise Bad(f"{name}: le=\"{found['le']}\" is not written as a float")
        had = self.bucket.setdefault(group, [])
        if had and (le <= had[-1][0] or value < had[-1][1]):
            raise Bad(f"{name}: buckets do not rise")
        had.append((le, value))

    def end(self):
        if self.type is None or self.help is None:
            raise Bad(f"{self.name} lacks its type or help")
        if self.type != "histogram":
            return
        for group in self.groups:
            had = self.bucket.get(group)
            count = self.samples.get((self.name + "_count", group))
            if not had or had[-1][0] != math.inf:
                raise Bad(f"{self.name}: no bucket +Inf")
            if count is None or (self.name + "_sum", group) not in self.samples:
                raise Bad(f"{self.name}: no _count or no _sum")
            if count != had[-1][1]:
                raise Bad(f"{self.name}: _count is not the bucket +Inf")
            if had[-1][1] == 0 and self.samples[(self.name + "_sum", group)] != 0:
                raise Bad(f"{self.name}: a _sum of nothing")


def parse(text):
    families, current, n = {}, None, 0
    try:
        if not text.endswith("# EOF\n"):
            raise Bad("the last line is not # EOF")
        lines = text[:-1].split("\n")
        for n, line in enumerate(lines, 1):
            if line == "# EOF":
                if n != len(lines):
                    raise Bad("# EOF before the end")
                break
            if line.startswith("#"):
                m = re.match(r"# (TYPE|UNIT|HELP) ([^ ]+) (.*)\Z", line)
                if not m or not NAME.match(m.group(2)):
                    raise Bad(f"no metadata: {line!r}")
                if not current or current.name != m.group(2):
                    if current:
                        current.end()
                    if m.group(2) in families:
                        raise Bad(f"family {m.group(2)} comes back")
                    current = families[m.group(2)] = Family(m.group(2))
                current.meta(m.group(1), m.group(3))
                continue
            name, found, rest = split_sample(line)
            if not current or not name.startswith(current.name):
                raise Bad(f"{name} is of no family before it")
            m = re.match(r" ([^ ]+)\Z", rest)
            if not m:
                raise Bad(f"{name}: after it must stand a blank and its value: {rest!r}")
            current.add(name, found, m.group(1))
        if current:
            current.end()
    except Bad as e:
        raise Bad(f"line {n}: {e}") from None
    names = {}
    for f in families.values():
        for suffix in SUFFIXES[f.type]:
            if names.setdefault(f.name + suffix, f.name) != f.name:
                raise Bad(f"{f.name} and {names[f.name + suffix]} both have {f.name}{suffix}")
    samples = {}
    for f in families.values():
        samples.update(f.samples)
    return samples


GOOD = """# TYPE a_seconds gauge
# UNIT a_seconds seconds
# HELP a_seconds Some \\\\ text.
a_seconds 1.5
# TYPE b counter
# HELP b Things.
b_total{x="1",y="a\\"b\\n"} 2
b_total{x="2",y=""} 1e3
# TYPE c histogram
# HELP c Times.
c_bucket{le="0.5"} 1
c_bucket{le="+Inf"} 2
c_count 2
c_sum 3.25
# TYPE d info
# HELP d A version.
d_info{version="1"} 1
# EOF
"""
# (what is wrong, from, to)
BAD = [
    ("no end", "# EOF\n", ""),
    ("no newline at the end", "# EOF\n", "# EOF"),
    ("text after the end", "# EOF\n", "# EOF\na 1\n"),
    ("an end in the middle", "# TYPE d info", "# EOF\n# TYPE d info"),
    ("an empty line", "# TYPE d info", "\n# TYPE d info"),
    ("a comment", "# TYPE d info", "# hello\n# TYPE d info"),
    ("a carriage return", "a_seconds 1.5", "a_seconds 1.5\r"),
    ("no type", "# TYPE b counter\n", ""),
    ("no help", "# HELP b Things.\n", ""),
    ("a type that is none", "b counter", "b count"),
    ("two types", "# TYPE b counter", "# TYPE b counter\n# TYPE b counter"),
    ("a unit that is not in the name", "a_seconds seconds", "a_seconds bytes"),
    ("metadata after samples", "a_seconds 1.5\n", "a_seconds 1.5\n# UNIT a_seconds seconds\n"),
    ("a counter without _total", "b_total{x=\"2\"", "b{x=\"2\""),
    ("a counter below 0", "1e3", "-1"),
    ("a counter that is NaN", "1e3", "NaN"),
    ("no number", "1e3", "1,000"),
    ("hexadecimal", "1e3", "0x10"),
    ("no value", " 1e3", ""),
    ("two blanks", " 1e3", "  1e3"),
    ("a timestamp", "1e3", "1e3 1.0 x"),
    ("a sample twice", "b_total{x=\"2\",y=\"\"} 1e3", "b_total{x=\"1\",y=\"a\\\"b\\n\"} 2"),
    ("a label twice", "x=\"2\"", "y=\"2\""),
    ("a label's bad name", "x=\"2\"", "2x=\"2\""),
    ("a reserved label", "x=\"2\"", "__x=\"2\""),
    ("a comma too many", "y=\"\"}", "y=\"\",}"),
    ("a blank between labels", "x=\"2\",y", "x=\"2\", y"),
    ("a quote that is not escaped", "a\\\"b", "a\"b"),
    ("an escape that is none", "a\\\"b", "a\\xb"),
    ("no quotes", "x=\"2\"", "x=2"),
    ("buckets that fall", "le=\"+Inf\"} 2", "le=\"+Inf\"} 0"),
    ("buckets out of order", "le=\"0.5\"", "le=\"+Inf\""),
    ("no last bucket", "c_bucket{le=\"+Inf\"} 2\n", ""),
    ("a bucket's bound that is no float", "le=\"0.5\"", "le=\"1\""),
    ("a count that is another", "c_count 2", "c_count 3"),
    ("a count that is not whole", "c_count 2", "c_count 2.0"),
    ("no sum", "c_sum 3.25\n", ""),
    ("an info that is not 1", "version=\"1\"} 1", "version=\"1\"} 2"),
    ("a sample of another family", "c_sum 3.25", "e_sum 3.25"),
    ("a family that comes back", "# EOF", "# TYPE b counter\n# HELP b Things.\nb_total 1\n# EOF"),
    ("a family in another's names", "# TYPE d info\n# HELP d A version.\nd_info{version=\"1\"} 1",
     "# TYPE b_total gauge\n# HELP b_total X\nb_total 1"),
]


def check_self():
    n = 0

    def tell(good, what):
        nonlocal n
        n += 1
        print(f"{'ok' if good else 'not ok'} {n} - {what}")

    samples = parse(GOOD)
    tell(samples[("b_total", (("x", "1"), ("y", 'a"b\n')))] == 2 and len(samples) == 8,
         "a good text is read")
    tell(parse("# EOF\n") == {}, "so is one without metrics")
    for what, a, b in BAD:
        assert a in GOOD, a
        try:
            parse(GOOD.replace(a, b, 1))
            tell(False, what)
        except Bad as e:
            tell(True, f"{what}: {e}".replace("#", "\\#"))
    print(f"1..{n}")


def find(samples, want):
    name, _, rest = want.partition("{")
    pairs = dict(p.split("=", 1) for p in rest.rstrip("}").split(",") if p)
    return samples[(name, tuple(sorted(pairs.items())))]


def main(argv):
    if argv[:1] == ["--self"]:
        check_self()
        return 0
    want = None
    if argv[:1] == ["--value"]:
        want, argv = argv[1], argv[2:]
    with open(argv[0], encoding="utf-8", newline="") if argv else sys.stdin as f:
        text = f.read()
    try:
        samples = parse(text)
        if want:
            value = find(samples, want)
            print(int(value) if value == int(value) else value)
    except Bad as e:
        print(e)
        return 1
    except KeyError:
        print(f"there is no {want}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
