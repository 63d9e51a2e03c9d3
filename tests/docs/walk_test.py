#!/usr/bin/env python3
"""docs/walk.md: in each list every linked function names the next one in its body, no list enters a room again that it has
left (core and distribution are free), and a side has at most 12 links. A list begins with an input of the session, or its
"From" line links an input or a function of an earlier list that names the first one. Planted breaches are seen."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "walk.md"
MOST_LINKS = 12
FREE_ROOMS = {"core", "distribution"}
INPUTS = {"start", "restore", "recover", "receive", "tick", "reconnect", "disconnect", "engine_failed", "supply_row",
          "supply_rows", "supply_tokens", "supply_scores"}
FROM = re.compile(r"^From \[`(\w+)`\]\(\.\./(include/specverify/[\w/]+\.hpp)\)", re.MULTILINE)
LINK = re.compile(r"^\d+\. \[`(\w+)`\]\(\.\./(include/specverify/(\w+)/[\w/]+\.hpp)\)", re.MULTILINE)


def without_comments(text):
    return re.sub(r"//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", " ", text)


def bodies(text, name):
    """The bodies of every function of that name which is defined in the text."""
    found = []
    for match in re.finditer(r"\b%s\s*\(" % re.escape(name), text):
        end = closing(text, match.end() - 1, "(", ")")
        head = re.match(r"(?:\s|const\b|noexcept\b(?:\([^)]*\))?|override\b|->\s*[\w:<>]+)*\{", text[end + 1 :])
        if head:
            start = end + head.end()
            found.append(text[start : closing(text, start, "{", "}")])
    return found


def closing(text, at, opens, closes):
    depth = 0
    while at < len(text):
        if text[at] == opens:
            depth += 1
        elif text[at] == closes:
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return at


def names(path, name, other):
    text = without_comments((ROOT / path).read_text(encoding="utf8"))
    return any(re.search(r"\b%s\b" % other, body) for body in bodies(text, name))


def join_complaints(where, part, links, walked):
    """How the list is reached. `walked`: the functions of earlier lists."""
    first = links[0][0]
    joined = FROM.search(part)
    if not joined:
        return [] if first in INPUTS else [f"{where}: nothing leads to {first}"]
    name, path = joined.groups()
    if name not in INPUTS and name not in walked:
        return [f"{where}: {name} is neither an input nor in an earlier list"]
    return [] if names(path, name, first) else [f"{where}: {name} does not lead to {first}"]


def complaints(page):
    wrong = []
    sides = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    if len(sides) < 2:
        wrong.append("fewer than two sides")
    walked = set()
    for side in sides:
        title = side.split("\n", 1)[0]
        if len(LINK.findall(side)) > MOST_LINKS:
            wrong.append(f"{title}: more than {MOST_LINKS} links")
        for part in re.split(r"^### ", side, flags=re.MULTILINE)[1:]:
            links = LINK.findall(part)
            where = f"{title}, {part.split(chr(10), 1)[0]}"
            if len(links) < 2:
                wrong.append(f"{where}: fewer than two links")
            else:
                wrong += join_complaints(where, part, links, walked)
            walked |= {link[0] for link in links}
            left = set()
            for (name, path, room), following in zip(links, links[1:] + [None]):
                text = without_comments((ROOT / path).read_text(encoding="utf8"))
                defined = bodies(text, name)
                if not defined:
                    wrong.append(f"{where}: {path} does not define {name}")
                if following is None:
                    continue
                if not names(path, name, following[0]):
                    wrong.append(f"{where}: {name} does not name {following[0]}")
                if following[2] != room:
                    left.add(room)
                if following[2] in left - FREE_ROOMS:
                    wrong.append(f"{where}: {following[0]} is back in {following[2]}")
    return wrong


def main():
    page = PAGE.read_text(encoding="utf8")
    wrong = complaints(page)
    first = LINK.search(page)
    planted = {
        "does not define": page.replace(f"[`{first[1]}`]", "[`no_such_function`]", 1),
        "does not name": page[: first.start()] + f"1. [`kind_of`](../include/specverify/codec/message.hpp)\n" + page[first.start() :],
        "more than 12": page.replace(first[0], "\n".join([first[0]] * 13), 1),
        "nothing leads to": FROM.sub("Then", page, count=1),
        "does not lead to": page.replace("From [`take_row`]", "From [`draw_draft`]", 1),
        "neither an input nor": page.replace("From [`take_row`]", "From [`encode`]", 1),
        "is back in": "## a\n### b\n1. [`f`](../include/specverify/session/edge.hpp)\n"
        "1. [`g`](../include/specverify/row/sample.hpp)\n1. [`h`](../include/specverify/session/edge.hpp)\n## c\n",
    }
    for words, text in planted.items():
        if not any(words in line for line in complaints(text)):
            wrong.append(f"a planted breach goes unseen: {words}")
    print("\n".join(wrong) if wrong else f"{len(LINK.findall(page))} links, each named by the one before")
    return 1 if wrong else 0


sys.exit(main())
