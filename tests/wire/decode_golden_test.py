#!/usr/bin/env python3
"""Reads tests/wire/golden.txt by docs/wire-format.md and docs/algorithms/delivery.md alone: standard library, whole numbers, nothing shared with the C++ code."""
import itertools
import struct
import sys
from decimal import Decimal, getcontext

getcontext().prec = 50
M64 = (1 << 64) - 1

# --- integer logarithm and exponential (wire-format.md, "The survival function") ---
LN2 = Decimal(2).ln()
RECIPROCAL = [-(-(1 << 25) // (256 + i)) for i in range(256)]
LOG2 = [int((-(Decimal(r) / (1 << 17)).ln() / LN2 * (1 << 63)).to_integral_value()) for r in RECIPROCAL]
EXP2 = [int(((-LN2 * i / 256).exp() * (1 << 63)).to_integral_value()) for i in range(256)]
LOG_TERMS = [int((Decimal(1 << 63) / LN2 / i).to_integral_value()) for i in range(1, 5)]
EXP_TERMS = [int((LN2 ** i / f * (1 << 64)).to_integral_value()) for i, f in ((1, 1), (2, 2), (3, 6))]


def high(a, b):
    return (a * b) >> 64


def log2_fixed(x):
    width = x.bit_length()
    scaled = x << (26 - width)
    index = (scaled >> 17) & 255
    z = (scaled * RECIPROCAL[index] - (1 << 42)) << 22
    c1, c2, c3, c4 = LOG_TERMS
    terms = c1 - high(z, c2) + high(high(z, z), c3 - high(z, c4))
    return ((width - 1) << 58) + ((LOG2[index] + high(z, terms)) >> 5)


def exp2_fixed(y):
    base = EXP2[(y >> 50) & 255]
    rest = (y & ((1 << 50) - 1)) << 6
    d1, d2, d3 = EXP_TERMS
    return (base - high(high(base, rest), d1 - high(rest, d2 - high(rest, d3)))) >> (y >> 58)


def survival(slots, members, gap):
    doubled = 2 * slots - members + 1
    if 2 * gap >= doubled:
        return 0
    product = (log2_fixed(doubled) - log2_fixed(doubled - 2 * gap)) * members
    return 0 if product > M64 else exp2_fixed(product) >> 23


def last_gap_at_least(slots, members, level):
    """The gap g with S(g + 1) < level <= S(g), by bisection."""
    low, high_end = 0, slots + 1
    while high_end - low > 1:
        middle = (low + high_end) // 2
        if survival(slots, members, middle) >= level:
            low = middle
        else:
            high_end = middle
    return low


# --- range decoder: the code as one long fraction, the interval as two of them ---
class Coder:
    """Keeps low and code as whole numbers of `digits` bytes, so that no carry needs care."""

    def __init__(self, body):
        self.body, self.digits, self.low, self.range = body, 8, 0, M64

    def code(self):
        return int.from_bytes(self.body[: self.digits].ljust(self.digits, b"\0"), "big")

    def narrow(self, offset, width):
        self.low += offset
        self.range = width
        while self.range < 1 << 56:
            self.low <<= 8
            self.range <<= 8
            self.digits += 1
        assert self.low <= self.code() < self.low + self.range, "the code left the interval"

    def uniform(self, total):
        unit = self.range // total
        symbol = (self.code() - self.low) // unit
        assert symbol < total
        self.narrow(unit * symbol, unit)
        return symbol

    def bit(self, ones, total):
        split = (self.range >> 32) * ((ones << 32) // total)
        one = self.code() - self.low < split
        self.narrow(0, split) if one else self.narrow(split, self.range - split)
        return one

    def part(self):
        return (self.code() - self.low) // (self.range >> 40)

    def take(self, first, width):
        unit = self.range >> 40
        self.narrow(unit * first, unit * width)

    def finish(self):
        """The shortest string, of these the smallest, in [low, low + range); returned without zeros at its end."""
        for length in range(self.digits + 1):
            unit = 1 << (8 * (self.digits - length))
            value = -(-self.low // unit)
            if value * unit < self.low + self.range:
                return value.to_bytes(length, "big")
        raise AssertionError


def subset(coder, slots, members):
    found, base = [], 0
    while members > 0:
        gap = None
        if slots == members:
            gap = 0
        elif members >= 2 and slots // 8 >= members:
            level = (1 << 40) - coder.part()
            gap = last_gap_at_least(slots, members, level)
            if survival(slots, members, gap) <= 1 << 32:
                gap = last_gap_at_least(slots, members, (1 << 32) + 1) + 1
                rest = survival(slots, members, gap)
                coder.take((1 << 40) - rest, rest)
                slots, base = slots - gap, base + gap
                continue
            here, after = survival(slots, members, gap), survival(slots, members, gap + 1)
            coder.take((1 << 40) - here, here - after)
        elif members == 1:
            gap = coder.uniform(slots)
        else:
            gap = 0
            while slots - gap > members and not coder.bit(members, slots - gap):
                gap += 1
        found.append(base + gap)
        base, slots, members = base + gap + 1, slots - gap - 1, members - 1
    return found


def composition(coder, resolution, parts, zeros):
    bars = subset(coder, resolution + parts - 1 if zeros else resolution - 1, parts - 1)
    counts, place = [], 0
    for bar in bars:
        end = bar if zeros else bar + 1
        counts.append(end - place)
        place = end + (1 if zeros else 0)
    return counts + [resolution - sum(counts)]


# --- messages ---
def crc32c(data):
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = (state >> 1) ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


NAME = dict(session=0x0123456789ABCDEF, nonce=0xA1B2C3D4)
HEAD = dict(NAME, round=300, length=66000, prefix=0xFEDCBA9876543210)
KINDS = ["", "hello", "draft", "request", "supply", "feedback", "", "text", "refuse", "stop"]
CHECK_BYTES = {"feedback_unchecked": 0, "feedback_checked": 2}  # the others have one


def open_headed(data, head):
    """Kind and body of a hello, which has its head in it, or of a refuse."""
    first, round_low, length_low, checksum = struct.unpack("<BBHI", data[:8])
    kind = KINDS[first]
    if kind == "hello":
        head = dict(zip(HEAD, struct.unpack("<QIIIQ", data[10:38])))
        assert head == HEAD
    packed = struct.pack("<QIIIQ", *(head.get(field, 0) for field in HEAD))
    assert crc32c(packed + struct.pack("<I", len(data)) + data[:4] + data[8:]) == checksum, "checksum"
    assert round_low == head.get("round", 0) % 256 and length_low == head.get("length", 0) % 65536
    return kind, data[8:]


def extended(value, token):
    """The prefix hash of a text with one more token."""
    value = (value ^ (token + 1)) * 0xBF58476D1CE4E5B9 & M64
    value = (value ^ value >> 29) * 0x94D049BB133111EB & M64
    return value ^ value >> 32


def open_steady(data, check_bytes):
    """Kind, and the bytes before the check."""
    kind = data[0] & 15
    check = extended(extended(HEAD["prefix"], HEAD["round"]), kind)
    size = len(data) - check_bytes
    assert data[size:] == check.to_bytes(8, "little")[:check_bytes], "check"
    return KINDS[kind], data[:size]


class Bits:
    def __init__(self, data):
        self.value, self.size, self.at = int.from_bytes(data, "little"), 8 * len(data), 0

    @classmethod
    def of(cls, message):
        """Those behind the kind."""
        bits = cls(message)
        bits.take(4)
        return bits

    def take(self, width):
        value = (self.value >> self.at) & ((1 << width) - 1)
        self.at += width
        return value

    def whole_bytes(self):
        """Where the next byte begins; the bits before it are zeros."""
        at = -(-self.at // 8)
        assert self.value & ((1 << 8 * at) - 1) >> self.at << self.at == 0, "padding of bits"
        return at

    def close(self):
        assert self.size - self.at < 8 and self.value >> self.at == 0, "padding of bits"


def width(values):
    return (values - 1).bit_length()


def half(data):
    return struct.unpack("<e", data)[0]


def vector(data, kind, size):
    """The numbers of one hidden state, float16 or int8, and that an encoder writes these bytes."""
    if kind == 1:
        numbers = struct.unpack(f"<{size}e", data)
        assert all(abs(x) < 65505 for x in numbers)
        return numbers
    bits, scale = struct.unpack("<I", data[:4])[0], struct.unpack("<f", data[:4])[0]
    steps = struct.unpack(f"<{size}b", data[4:])
    assert bits % 128 == 0 and (bits == 0 or (1 << 23) <= bits < 0x7F800000) and max(map(abs, steps)) == (127 if bits else 0) and -128 not in steps
    return tuple(scale * step for step in steps)


def of_row(message, vocab, max_length, max_skipped):
    """Skipped ids, and the probabilities of drafts that were drawn from a row; where the drafts begin."""
    bits = Bits.of(message)
    skipped, count = bits.take(width(max_skipped + 1)), bits.take(width(max_length + 1))
    ids = [bits.take(width(vocab)) for _ in range(skipped)]
    at = bits.whole_bytes()
    units = struct.unpack(f"<{count}I", message[at:at + 4 * count])
    assert all(0 < unit <= 1 << 31 for unit in units)
    return ids, units, at + 4 * count


def beside(message, vocab, max_length, side, largest=0):
    """Skipped ids, channel report, hidden states, the resolution of the laws (of `largest`, where it is announced); where the drafts begin."""
    size, kind, with_draft, report, max_skipped = side
    bits = Bits.of(message)
    skipped, vectors = bits.take(width(max_skipped + 1)), bits.take(width(max_length + 1) if with_draft else 0)
    resolution = bits.take(width(largest) if largest else 0) + 1
    assert not largest or resolution <= largest
    assert skipped <= max_skipped and vectors <= max_length
    ids = [bits.take(width(vocab)) for _ in range(skipped)]
    at = bits.whole_bytes()
    assert all(token < vocab for token in ids)
    channel = None
    if report:
        halves = [half(message[at + 2 * i:at + 2 * i + 2]) for i in range(5)]
        assert all(b < 0x80 for b in message[at + 1:at + 10:2]) and halves[2] < 1 and halves[3] < 1 and max(halves[:2]) <= 38
        channel = [10 ** halves[0] - 1, 10 ** halves[1] - 1] + halves[2:]
        at += 10
    each = {0: 0, 1: 2 * size, 2: 4 + size}[kind] if with_draft else 0
    states = [vector(message[at + i * each:at + (i + 1) * each], kind, size) for i in range(vectors)]
    at += vectors * each
    return (ids, resolution, at) if largest else (ids, channel, states, at)


def drafts(message, kind, vocab, resolution, support, max_length, pad_to, begin=1):
    """The drafts of a message whose check is cut off; the range code has the bytes from `begin` on."""
    body = message[begin:]
    coder, result = Coder(body), []
    for _ in range(coder.uniform(max_length + 1)):
        if kind == 2:
            stars = subset(coder, resolution + vocab - 1, resolution)
            law = {}
            for number, star in enumerate(stars):
                law[star - number] = law.get(star - number, 0) + 1
            token = coder.uniform(vocab)
        elif kind == 6:
            size = coder.uniform(support or vocab) + 1
            ids = subset(coder, vocab, size)
            rest = vocab - size
            units = composition(coder, resolution, size + (rest > 0), True)
            law = {token: unit * max(rest, 1) for token, unit in zip(ids, units)}
            law["tail"] = units[size] if rest else 0
            place = coder.uniform(size + (rest > 0))
            others = (token for token in range(vocab) if token not in law)
            token = ids[place] if place < size else next(itertools.islice(others, coder.uniform(rest), None))
        else:
            size = coder.uniform(min(resolution, vocab)) + 1 if kind == 0 else support or coder.uniform(vocab) + 1
            ids = subset(coder, vocab, size)
            law = dict(zip(ids, composition(coder, resolution, size, kind == 1)))
            token = ids[coder.uniform(size)]
        result.append((token, law))
    code = coder.finish().rstrip(b"\0")
    assert body == code + bytes(len(body) - len(code)), "not the shortest code"
    assert len(message) + 1 == -(-(begin + len(code) + 1) // pad_to) * pad_to, "length"
    return result


def drawn(law, share):
    """The id that holds this share (of 2^32) of a law, as the multiply-high draw does."""
    target = (share * (1 << 32) * sum(law.values())) >> 64
    for token in sorted(law):
        if target < law[token]:
            return token
        target -= law[token]


# --- a table of weights (wire-format.md, section 6) ---
EIGHTHS = (65536, 71468, 77936, 84990, 92682, 101070, 110218, 120194)


NOISE_KEY = 0x2122232425262728


def philox_word(position, token):
    """Word of kind 1: Philox4x32-10 at {position, 0, id / 4, 6}."""
    words, key = [position, 0, token // 4, 6], [NOISE_KEY & 0xFFFFFFFF, NOISE_KEY >> 32]
    for _ in range(10):
        low, high = words[0] * 0xD2511F53, words[2] * 0xCD9E8D57
        words = [high >> 32 ^ words[1] ^ key[0], high & 0xFFFFFFFF, low >> 32 ^ words[3] ^ key[1], low & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return words[token % 4]


def sglang_word(position, token):
    """Word of kind 4: 2^32 - 1 - MurmurHash3 of key low, key high, position - 1, id."""
    state = 0
    for word in (NOISE_KEY & 0xFFFFFFFF, NOISE_KEY >> 32, position - 1, token):
        word = word * 0xCC9E2D51 & 0xFFFFFFFF
        state ^= (word << 15 | word >> 17) * 0x1B873593 & 0xFFFFFFFF
        state = ((state << 13 | state >> 19) * 5 + 0xE6546B64) & 0xFFFFFFFF
    state ^= 16
    state = (state ^ state >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    state = (state ^ state >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return 0xFFFFFFFF - (state ^ state >> 16)


def factor_of(word):
    """The factor of a weight, by the word of the noise."""
    word = max(word, 1)
    zeros = 32 - word.bit_length()
    b = 32 + 13 * (4 * zeros + 3 - ((word << zeros + 2) >> 31 & 3)) // 8
    return ((EIGHTHS[b % 8] << b // 8) + (1 << 15)) >> 16


class Table:
    """A file of a table of weights, and the weights that it gives ids."""

    def __init__(self, file):
        self.file, self.at = file, 0
        assert file[:4] == b"SVPR"
        self.at = 4
        version, self.vocab, ones, twos = (self.take(4) for _ in range(4))
        assert version == 1
        self.id_bytes = 2 if self.vocab <= 65536 else 3
        self.mixing = [[0] * 4] + [[self.take(1) for _ in range(4)] for _ in range(15)]
        for chosen, row in enumerate(self.mixing):
            assert sum(row) <= 240 and not any(m for i, m in enumerate(row) if not chosen >> i & 1)
        self.weights = [self.weight() for _ in range(self.vocab)]
        self.sum = sum(self.weights)
        assert self.sum <= 1 << 28
        self.lists = [self.read_lists(ones, 1), self.read_lists(twos, 2)]
        assert self.at == len(file)

    def take(self, size):
        self.at += size
        return int.from_bytes(self.file[self.at - size:self.at], "little")

    def weight(self):
        b = self.take(1)
        return ((EIGHTHS[b % 8] << b // 8) + (1 << 15)) >> 16

    def take_id(self):
        token = self.take(self.id_bytes)
        assert token < self.vocab
        return token

    def read_lists(self, count, ids):
        found = {}
        for _ in range(count):
            before = tuple(self.take_id() for _ in range(ids))
            size = self.take(1)
            followers = [(self.take_id(), self.weight()) for _ in range(size)]
            assert 1 <= size <= 64 and sorted({token for token, _ in followers}) == [token for token, _ in followers]
            whole = sum(weight for _, weight in followers)
            found[before] = [(token, (weight << 31) // whole) for token, weight in followers]
        assert sorted(found) == list(found) and len(found) == count
        return found

    def added(self, chosen, source):
        return self.sum * self.mixing[chosen][source] // 16

    def after(self, text):
        """The weights of all ids after a text."""
        weights = list(self.weights)
        if not text:
            return weights
        end = len(text) - 1
        places = [i for i in range(end - 1, max(end - 1024, 0) - 1, -1) if text[i] == text[end]][:32]
        both = [i for i in places if i > 0 and text[i - 1] == text[end - 1]]
        lists = [self.lists[0].get(tuple(text[-1:])), self.lists[1].get(tuple(text[-2:]))]
        chosen = sum(1 << i for i, known in enumerate(lists + [places, both]) if known)
        for source, followers in enumerate(lists):
            for token, share in followers or ():
                weights[token] += self.added(chosen, source) * share >> 31
        for source, found in ((2, places), (3, both)):
            for i in found:
                weights[text[i + 1]] += self.added(chosen, source) // len(found)
        return weights

    def fingerprint(self):
        numbers = [self.vocab, *itertools.accumulate(self.weights)]
        numbers += [self.added(chosen, source) for chosen in range(16) for source in range(4)]
        for lists in self.lists:
            numbers.append(len(lists))
            for before in lists:
                numbers += before if len(before) == 2 else (0, *before)
            numbers += itertools.accumulate(len(followers) for followers in lists.values())
            numbers += [number for followers in lists.values() for follower in followers for number in follower]
        state = 0x6C62272E07BB014262B821756295C58D
        for byte in b"".join(number.to_bytes(4, "little") for number in numbers):
            state = (state ^ byte) * ((1 << 88) + 0x13B) % (1 << 128)
        return state

    def take_ids(self, coder, text, count, word=None):
        """The next ids after a text. word(position, id): the word of the noise."""
        text = list(text)
        for _ in range(count):
            weights = self.after(text)
            whole = sum(weights)
            if word:
                noisy = [w * factor_of(word(len(text), token)) for token, w in enumerate(weights)]
                weights, whole = (noisy, sum(noisy)) if sum(noisy) <= 1 << 48 else (weights, whole)
            unit = coder.range // whole
            point = (coder.code() - coder.low) // unit
            assert point < whole
            sums = list(itertools.accumulate(weights))
            token = next(i for i, above in enumerate(sums) if point < above)
            coder.narrow(unit * (sums[token] - weights[token]), unit * weights[token])
            text.append(token)
        return text[len(text) - count:]

    def read_ids(self, code, text, count):
        """The ids after a text, by their code."""
        coder = Coder(code)
        ids = self.take_ids(coder, text, count)
        assert coder.finish() == code, "not the shortest code"
        return ids

    def read_drafts(self, message, max_length, max_skipped, text, word=None):
        """Skipped ids and drafts of a message whose check is cut off."""
        skipped, _, _, at = beside(message, self.vocab, max_length, (0, 0, False, False, max_skipped))
        coder = Coder(message[at:])
        ids = self.take_ids(coder, text + skipped, coder.uniform(max_length + 1), word)
        assert coder.finish() == message[at:], "not the shortest code"
        return skipped, ids


def read_prior(table, seen):
    assert seen.pop("prior_table")
    assert table.vocab == 12 and table.lists[0][(0,)] == [(0, 1 << 31)] and len(table.lists[1]) == 2
    assert table.fingerprint() == int.from_bytes(seen.pop("prior_fingerprint"), "little")
    assert table.read_ids(seen.pop("prior_ids"), [3, 5, 1, 5], 10) == [1, 5, 7, 3, 5, 2, 0, 0, 11, 4]
    assert not seen, "bytes that nobody read"


# --- datagrams (delivery.md, "Datagrams") ---
NONCES = (0x01020304, 0x0A0B0C0D)


def control_of(data):
    """Kind, bytes of the check, whether there are no timers, and the numbers."""
    first = data[0]
    assert first >> 7 == 1 and first & 0x60 == 0 and crc32c(data[:-4]) == int.from_bytes(data[-4:], "little")
    return ["", "connect", "accept", "reset"][first & 3], 2 * (first >> 2 & 3), bool(first & 16), struct.unpack(f"<{len(data) // 4 - 1}I", data[1:-4])


def data_of(data, check_bytes, from_client, expected, acknowledged):
    """Number, acknowledged, ask and the message, of one that expects these numbers."""
    first, check, message = data[0], data[1:1 + check_bytes], data[1 + check_bytes:]
    assert first >> 7 == 0
    number = next(n for n in range(max(expected - 4, 0), 1 << 32) if n % 8 == first & 7)
    arrived = next(n for n in range(max(acknowledged - 3, 0), 1 << 32) if n % 8 == first >> 3 & 7)
    ask = first >> 6 & 1
    whole = crc32c(struct.pack("<IIIIBB", *NONCES, number, arrived, from_client, ask) + message)
    assert whole.to_bytes(4, "little").startswith(check), "check"
    return number, arrived, ask, message


def read_datagrams(seen):
    assert control_of(seen.pop("datagram_connect")) == ("connect", 2, True, NONCES[:1])
    assert control_of(seen.pop("datagram_accept")) == ("accept", 4, False, NONCES)
    up, down = seen.pop("datagram_up"), seen.pop("datagram_down")
    assert all(data_of(up, 4, True, e, a) == (9, 6, 1, b"abc") for e in range(6, 14) for a in range(2, 10))
    assert data_of(down, 2, False, 70001, 65540) == (70000, 65541, 0, b"abc")
    assert data_of(seen.pop("datagram_bare"), 0, False, 3, 0) == (3, 1, 0, b"")
    assert control_of(seen.pop("datagram_reset")) == ("reset", 4, False, (crc32c(up),))
    assert not seen, "a datagram that nobody read"


def main(path):
    golden = {name: bytes.fromhex(text) for name, text in (line.split() for line in open(path))}
    read_datagrams({name: data for name, data in golden.items() if name.startswith("datagram")})
    table = Table(golden["prior_table"])
    read_prior(table, {name: data for name, data in golden.items() if name.startswith("prior")})
    seen = {}
    for name, data in golden.items():
        if name.startswith(("datagram", "prior")):
            continue
        if name == "stop":
            seen[name] = KINDS[data[0] & 15], data
        elif KINDS[data[0] & 15] in ("hello", "refuse"):
            seen[name] = open_headed(data, NAME)
        else:
            seen[name] = open_steady(data, CHECK_BYTES.get(name, 1))

    kind, body = seen["hello"]
    hello = "<H28sQQBBBBIIIIIIIdIddBBdIBBBII"
    fields = struct.unpack(hello, body)
    assert kind == "hello" and fields[0] == 3 and fields[2:7] == (0x1020304050607080, 0x90A0B0C0D0E0F001, 1, 1, 0)
    assert fields[7:15] == (1, 128256, 100, 16, 8, 64, 12, 128) and fields[15:20] == (0.7, 50, 0.95, 0.01, 1 + 1)
    assert fields[20:] == (1, 0.0, 0, 0, 0, 0, 0, 512)
    fixed = struct.calcsize(hello)
    assert seen["hello_of_cloud"][1] == body + struct.pack("<BHIHBBIBHQBHB", 1, 12, 299, 5, 1, 2, 0xFACADE01, 2, 8, 0x1112131415161718, 3, 1, 16)
    noisy = struct.unpack(hello, seen["hello_noise"][1][:fixed])
    assert noisy[5] == 0, "shared noise is stated under the greedy rule"
    assert noisy[8:] == fields[8:]
    assert seen["hello_noise"][1][fixed:] == struct.pack("<BHBBQ", 128, 10, 1, 1, 0x2122232425262728)
    coded = struct.unpack(hello, seen["hello_prior"][1][:fixed])
    assert coded[7:12] == (4, 4096, 0, 0, 8), "only ids are coded by a prior"
    assert seen["hello_prior"][1][fixed:] == struct.pack("<BHQQB", 129, 17, 0x4142434445464748, 0x3132333435363738, 1)
    both = struct.pack("<BHBBQ", 128, 10, 1, 4, NOISE_KEY) + struct.pack("<BHQQB", 129, 17, 0x4142434445464748, 0x3132333435363738, 2)
    assert seen["hello_prior_noise"][1][fixed:] == both
    fields = struct.unpack(hello, seen["hello_semantic"][1][:fixed])
    assert fields[4:12] == (0, 2, 0, 4, 32000, 0, 0, 8) and fields[15] == 0.0 and fields[20:] == (0, 0.375, 2048, 2, 1, 1, 300, 24)
    assert seen["hello_semantic"][1][fixed:] == struct.pack("<BH", 7, 2) + b"\xab\xcd"

    for name in ("feedback", "feedback_unchecked", "feedback_checked"):
        assert seen[name][0] == "feedback"
        bits = Bits.of(seen[name][1])
        assert [bits.take(w) for w in (4, 3, 2, 17)] == [5, 1, 0, 128000]
        bits.close()
    bits = Bits.of(seen["feedback_stop"][1])
    assert [bits.take(w) for w in (4, 3, 2)] == [2, 0, 1]
    bits.close()

    assert seen["text"][0] == "text"
    bits = Bits.of(seen["text"][1])
    assert bits.take(width(512 + 1)) == 5 and [bits.take(17) for _ in range(5)] == [0, 1, 128255, 77777, 65536]
    bits.close()
    assert seen["request"] == ("request", bytes([3, 0xA5]))
    assert seen["supply"] == ("supply", bytes([4, 0x81]) + struct.pack("<I", 3) + bytes([1, 2, 254]) + bytes(22))
    assert seen["refuse"] == ("refuse", struct.pack("<HHI", 105, 12, 7))
    assert seen["stop"] == ("stop", struct.pack("<BIQ", 9 + (2 << 4), 66000, 0xFEDCBA9876543210))

    share = lambda i: 0x9E3779B9 * (i + 1) % (1 << 32)
    first = {i * i * 2000 + 17: (3 + i if i < 7 else 58) for i in range(8)}
    second = {i * 2003 + i % 7: (2 if i < 36 else 1) for i in range(64)}
    positive = [first, second, {128255: 100}]
    sparse = {(i if i < 15 else 128255): {3: 90, 15: 10}.get(i, 0) for i in range(16)}
    spread = {100 + i * 7919: (6 if i < 15 else 10) for i in range(16)}
    flat = {i * 10007: 20 for i in range(12)}
    peaked = {5: 200, 6: 39, 128255: 1}
    expected = {
        "draft_drop_zero": (positive, (0, 128256, 100, 0, 8, 1)),
        "draft_paper": ([sparse, spread], (1, 128256, 100, 16, 8, 1)),
        "draft_paper_announced_padded": ([sparse, spread], (1, 128256, 100, 0, 8, 64)),
        "draft_dense": ([flat, peaked], (2, 128256, 240, 0, 8, 1)),
        "draft_empty": ([], (0, 128256, 100, 0, 8, 1)),
    }
    for name, (laws, form) in expected.items():
        kind, message = seen[name]
        assert kind == "draft" and message[0] == 2
        want = [(drawn(law, share(i)), law) for i, law in enumerate(laws)]
        assert drafts(message, *form) == want, name

    message = seen["draft_dense_announced"][1]
    ids, resolution, at = beside(message, 128256, 8, (0, 0, False, False, 5), 720)
    assert (ids, resolution) == ([128255], 240)
    assert drafts(message, 2, 128256, 240, 0, 8, 1, at) == [(drawn(law, share(i)), law) for i, law in enumerate([flat, peaked])]

    message = seen["draft_fp16_row"][1]
    assert message[0] == 2 and struct.unpack("<H", message[1:3]) == (1,)
    row = struct.unpack("<10e", message[3:23])
    assert row == (0.5, 0, 2.0 ** -24, 1023 * 2.0 ** -24, 0, 0, 0, 0, 0, 0.1875)
    bits = Bits(message[23:])
    law = {i: int(v * (1 << 24)) for i, v in enumerate(row) if v}
    assert bits.take(4) == drawn(law, share(0))
    bits.close()

    bits = Bits.of(seen["claims"][1])
    assert [bits.take(w) for w in (4, 15, 15)] == [2, 5, 31999]
    bits.close()
    assert table.read_drafts(seen["claims_coded"][1], 8, 0, [3, 5, 1, 5]) == ([], [1, 5, 7, 3])
    assert table.read_drafts(seen["claims_coded_beside"][1], 8, 5, [3, 5, 1, 5]) == ([1, 5], [7, 3, 5])
    assert table.read_drafts(seen["claims_coded_noise"][1], 8, 5, [3, 5, 1, 5], philox_word) == ([1, 5], [7, 3, 5])
    assert table.read_drafts(seen["claims_coded_hashes"][1], 8, 0, [3, 5, 1, 5], sglang_word) == ([], [1, 5, 7, 3])
    bits = Bits.of(seen["claims_counted"][1])
    assert [bits.take(w) for w in (4, 15, 7, 15, 7)] == [2, 5, 0, 31999, 99]
    bits.close()

    side = (3, 2, True, True, 300)
    states = [(0.5, -2.0, 1.0), (0.0, 1.0, -0.25)]
    near = lambda found, wanted, step: all(abs(x - y) <= step for a, b in zip(found, wanted) for x, y in zip(a, b))
    kept = {i * 1009 + 5: (11 if i < 20 else 0 if i == 25 else 2) * 31970 for i in range(30)}
    kept["tail"] = 17
    for name in ("claims_beside", "draft_tail_beside"):
        message = seen[name][1]
        ids, channel, vectors, at = beside(message, 32000, 8, side)
        assert ids == [1, 31999, 77] and len(vectors) == 2 and near(vectors, states, 0.01)
        assert abs(channel[0] / 999999 - 1) < 0.01 and channel[1:4] == [0, 0.25, 0] and abs(channel[4] - 0.05) < 1e-4
        if name == "draft_tail_beside":
            found = drafts(message, 6, 32000, 255, 64, 8, 32, at)
            assert [law for _, law in found] == [kept, kept] and found[0][0] in kept and found[1][0] not in kept
        else:
            bits = Bits(message[at:])
            assert [bits.take(w) for w in (4, 15, 15)] == [2, 5, 31999]
            bits.close()
    found = drafts(seen["draft_tail"][1], 6, 32000, 255, 0, 8, 1)
    assert [law for _, law in found] == [kept, kept] and found[0][0] in kept and found[1][0] == 31999
    message = seen["draft_tail_of_row"][1]
    ids, units, at = of_row(message, 32000, 8, 63)
    assert ids == [1, 31999, 77] and units == (round((1 << 31) / 3), 1)
    assert [law for _, law in drafts(message, 6, 32000, 255, 64, 8, 1, at)] == [kept, kept]
    assert seen["request_hidden"] == ("request", bytes([3 + (1 << 4), 0x42]))
    message = seen["supply_hidden"][1]
    assert message[:6] == bytes([4 + (1 << 4), 0x42]) + struct.pack("<I", 12)
    assert [vector(message[6 + 6 * i:12 + 6 * i], 1, 3) for i in range(2)] == states
    print(f"{len(golden)} golden messages and datagrams read")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "tests/wire/golden.txt")
