# SPDX-License-Identifier: Apache-2.0
"""English prose from Debian packages: apt-get download, dpkg -x, plain text. Nothing of it is committed."""
import gzip
import html
import os
import re
import subprocess
import sys

# package -> licence of the text, as its debian/copyright states it
PACKAGES = {
    "bible-kjv-text": "public domain (King James Version, 1611)",
    "bible-kjv": "reader program for the text above, GPL-2+ (run, not learned from)",
    "jargon-text": "public domain (the Jargon File 4.4.7)",
    "dict-devil": "public domain (The Devil's Dictionary, 1911)",
    "debian-handbook": "GPL-2+ or CC-BY-SA-3.0",
    "developers-reference": "GPL-2+",
    "debian-history": "GPL-2+",
}


def fetch(folder):
    """Downloads and unpacks the packages; returns the root of the unpacked tree."""
    debs, tree = os.path.join(folder, "debs"), os.path.join(folder, "tree")
    os.makedirs(debs, exist_ok=True)
    os.makedirs(tree, exist_ok=True)
    for name in PACKAGES:
        found = [f for f in sorted(os.listdir(debs)) if f.startswith(name + "_")]
        if not found:
            got = subprocess.run(["apt-get", "download", name], cwd=debs, capture_output=True, text=True)
            if got.returncode != 0:
                sys.exit("apt-get download %s failed; without package lists run apt-get update first\n%s" % (name, got.stderr))
            found = [f for f in sorted(os.listdir(debs)) if f.startswith(name + "_")]
        subprocess.run(["dpkg", "-x", os.path.join(debs, found[-1]), tree], check=True)
    return tree


def paragraphs_of(text):
    for block in re.split(r"\n\s*\n", text):
        line = " ".join(block.split())
        if line:
            yield line


def html_paragraphs(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    text = re.sub(r"(?s)<(script|style|pre|head)\b.*?</\1>", " ", text)
    for body in re.findall(r"(?s)<(?:p|div class=\"para\")[^>]*>(.*?)</(?:p|div)>", text):
        line = " ".join(html.unescape(re.sub(r"<[^>]+>", "", body)).split())
        yield line


def html_files(root):
    for base, _, files in sorted(os.walk(root)):
        for f in sorted(files):
            if f.endswith((".html", ".htm")):
                yield os.path.join(base, f)


def bible(tree):
    """One paragraph per chapter-sized run of verses, verse numbers removed."""
    out = subprocess.run([os.path.join(tree, "usr/bin/bible"), "-p", os.path.join(tree, "usr/lib"), "-l9999",
                          "gen1:1-rev22:21"], stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout
    verses = []
    for line in out.decode("latin-1").splitlines():
        line = re.sub(r"^\s*(?:[1-3]?[A-Za-z]+\s*)?(?:\d+:)?\d+\s+", "", line).strip()
        if line and not re.match(r"^[1-3]?\s?[A-Z][a-z]+ ?\d*$", line):
            verses.append(line)
    for i in range(0, len(verses), 12):
        yield " ".join(verses[i:i + 12])


def clean(line):
    line = line.replace("\u2019", "'").replace("\u2018", "'").replace("\u201c", '"').replace("\u201d", '"')
    line = line.replace("\u2013", "-").replace("\u2014", " - ").replace("\u00a0", " ").replace("\u2026", "...")
    return re.sub(r"[^\x20-\x7e]+", " ", line).replace("_", "").strip()


def prose(folder):
    """{package: [paragraphs]}, in a fixed order."""
    tree = fetch(folder)
    doc = os.path.join(tree, "usr/share/doc")
    raw = {"bible-kjv-text": list(bible(tree))}
    with gzip.open(os.path.join(doc, "jargon-text/jargon.txt.gz")) as f:
        raw["jargon-text"] = list(paragraphs_of(f.read().decode("latin-1")))
    with gzip.open(os.path.join(tree, "usr/share/dictd/devil.dict.dz")) as f:
        raw["dict-devil"] = list(paragraphs_of(f.read().decode("latin-1")))
    raw["debian-handbook"] = [p for f in html_files(os.path.join(doc, "debian-handbook/html/en-US")) for p in html_paragraphs(f)]
    raw["developers-reference"] = [p for f in html_files(os.path.join(tree, "usr/share/developers-reference"))
                                   for p in html_paragraphs(f)]
    raw["debian-history"] = [p for f in html_files(doc + "/debian-history") if f.endswith(".en.html") or "docs" in f
                             for p in html_paragraphs(f) if ".en." in f or f.endswith("en.html")]
    out = {}
    for name, lines in raw.items():
        seen, keep = set(), []
        for line in map(clean, lines):
            letters = sum(c.isalpha() or c == " " for c in line)
            if len(line) >= 120 and letters >= 0.85 * len(line) and line not in seen:
                seen.add(line)
                keep.append(line)
        out[name] = keep
    return out


def split(folder):
    """(training, held-out) paragraphs: every twentieth paragraph of each package is held out."""
    train, held = [], []
    for lines in prose(folder).values():
        for i, line in enumerate(lines):
            (held if i % 20 == 19 else train).append(line)
    return train, held


if __name__ == "__main__":
    if sys.argv[1:] == ["packages"]:
        print(" ".join(PACKAGES))
    elif len(sys.argv) == 3 and sys.argv[1] == "held-out":
        print("\n".join(split(sys.argv[2])[1]))
    elif len(sys.argv) == 3 and sys.argv[1] == "sizes":
        for package, lines in prose(sys.argv[2]).items():
            print("%-22s %6d paragraphs %8d bytes   %s" % (package, len(lines), sum(map(len, lines)), PACKAGES[package]))
    else:
        sys.exit("usage: corpus.py packages | held-out FOLDER | sizes FOLDER")
