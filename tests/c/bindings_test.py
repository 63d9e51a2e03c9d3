#!/usr/bin/env python3
"""The C interface from Python by ctypes alone, which can call no inline function and return no struct from a callback.

The declarations are read from the headers: every callback type is bound to a function. With SPECVERIFY_C_LIBRARY (the
shared library) and SPECVERIFY_C_PEER (tests/c/same.cpp, built) a Python device talks to a C++ cloud, and a C++ device
to a Python cloud: `specverify_generate` and `specverify_serve`, each side in a process of its own.
"""
import ctypes
import os
import re
import struct
import subprocess
import sys
import zlib

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))

# ---- The headers


class Headers:
    """Structs, callback types, numbers and functions as the C headers declare them."""

    basic = {"void": None, "int": ctypes.c_int, "size_t": ctypes.c_size_t, "float": ctypes.c_float,
             "double": ctypes.c_double, "char": ctypes.c_char, "unsigned": ctypes.c_uint,
             **{f"{sign}int{bits}_t": getattr(ctypes, f"c_{sign}int{bits}")
                for sign in ("u", "") for bits in (8, 16, 32, 64)}}

    def __init__(self, *paths):
        self.types, self.numbers, self.functions, self.callbacks = dict(self.basic), {}, {}, {}
        for path in paths:
            with open(path, encoding="utf-8") as file:
                self.read(re.sub(r"//.*", "", file.read()))

    def read(self, text):
        for name, number in re.findall(r"#define (SPECVERIFY_\w+) (\d+)u?$", text, re.M):
            self.numbers[name] = int(number)
        text = re.sub(r"^#.*(?:\\\n.*)*", "", text, flags=re.M)
        text = re.sub(r"static inline [^{;]*\{.*?\n\}", "", text, flags=re.S)
        pattern = (r"typedef struct (\w+) \{(.*?)\} \w+;|typedef struct (\w+) \w+;|typedef (\w+) (\w+)\(([^)]*)\);"
                   r"|enum \w+ \{(.*?)\};|SPECVERIFY_API ([^;(]*?)(\w+)\(([^)]*)\);")
        for found in re.finditer(pattern, text, re.S):
            name, body, opaque, result, function, arguments, values, returned, exported, taken = found.groups()
            if name:
                self.types[name] = made = type(name, (ctypes.Structure,), {})
                made._fields_ = [field for line in body.split(";") if line.strip() for field in self.fields(name, line)]
            elif opaque:
                self.types[opaque] = type(opaque, (ctypes.Structure,), {})
            elif function:
                self.types[function] = self.callback(function, result, arguments)
            elif values:
                for value, number in re.findall(r"(SPECVERIFY_\w+) = (\d+)", values):
                    self.numbers[value] = int(number)
            else:
                self.functions[exported] = (self.type_of(returned), [self.type_of(one) for one in self.split(taken)])

    @staticmethod
    def split(arguments):
        return [] if arguments.strip() == "void" else arguments.split(",")

    def callback(self, name, result, arguments):
        made = ctypes.CFUNCTYPE(self.type_of(result), *[self.type_of(one) for one in self.split(arguments)])
        self.callbacks[name] = made
        return made

    def fields(self, name, line):
        pointer = re.match(r"\s*(.*?)\(\*(\w+)\)\((.*)\)\s*$", line, re.S)
        if pointer:
            result, field, arguments = pointer.groups()
            return [(field, self.callback(f"{name}.{field}", result, arguments))]
        words, *others = [part.strip() for part in line.split(",")]
        kind, first = re.match(r"(.*?[\s*])(\w+(?:\[\d+\])?)$", words, re.S).groups()
        made = []
        for field in (first, *others):
            name, count = re.match(r"(\w+)(?:\[(\d+)\])?$", field).groups()
            made.append((name, self.type_of(kind + name) * int(count) if count else self.type_of(kind + name)))
        return made

    def type_of(self, declared):
        """Of `const T* name`, `T name[16]`, or of either without a name."""
        declared = re.sub(r"\bconst\b", "", declared).strip()
        stars = declared.count("*") + len(re.findall(r"\[\d*\]", declared))
        base = re.match(r"\w+", declared).group()
        made = self.types[base]
        if base in self.callbacks:
            stars -= 1  # a function type, and a pointer to it
        if stars and base in ("void", "char"):
            made, stars = {"void": ctypes.c_void_p, "char": ctypes.c_char_p}[base], stars - 1
        for _ in range(stars):
            made = ctypes.POINTER(made)
        return made


def check_headers(c):
    """Whatever a callback is, Python has to be able to be it; and what sets a struct has to be in the library."""
    wrong = []
    for name, kind in c.callbacks.items():
        try:
            kind(lambda *given: 0)
        except TypeError as why:
            wrong.append(f"{name}: ctypes cannot bind it: {why}")
    for path in headers:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for name in re.findall(r"static inline \w+ (\w+_(?:defaults|named))\(", text):
            body = text[text.index(f" {name}("):]
            called = re.search(r"\(void\)(specverify_\w+_init)\(", body[:body.index("\n}")])
            if not called or called.group(1) not in c.functions:
                wrong.append(f"{name}: no function of the library does the same")
    for name in ("specverify_fingerprint_add", "specverify_system_name", "specverify_errc_name", "specverify_abi"):
        if name not in c.functions:
            wrong.append(f"{name} is missing")
    print("\n".join(wrong), end="\n" if wrong else "")
    return not wrong


def check_number(c):
    """The ABI number goes with what it numbers: places and sizes of members, sizes of what calls take and give."""
    def size(kind):
        return ctypes.sizeof(kind) if kind else 0

    lines = [f"{name}.{field} {getattr(kind, field).offset} {size(member)}" for name, kind in c.types.items()
             for field, member in getattr(kind, "_fields_", [])]
    lines += [f"{name} {size(kind._restype_)} {[size(one) for one in kind._argtypes_]}"
              for name, kind in c.callbacks.items()]
    lines += [f"{name} {size(result)} {[size(one) for one in taken]}" for name, (result, taken) in c.functions.items()]
    said = f"{c.numbers['SPECVERIFY_ABI']} {zlib.crc32(chr(10).join(sorted(lines)).encode()):08x}"
    with open("src/c/abi.txt", encoding="utf-8") as file:
        if file.read().strip() == said:
            return True
    print("the C headers declare something else than src/c/abi.txt says: raise SPECVERIFY_ABI, unless all that is new\n"
          f"are functions and members at the end of a struct that begins with its size. Then write there: {said}")
    return False


# ---- The model of examples/c/toy.h

V = 1000


def rounded(value):
    return struct.unpack("f", struct.pack("f", value))[0]


peaks = [rounded(rounded(16 * (n / 65536) * (n / 65536)) * (n / 65536)) for n in range(65536)]


def toy_row(last, noise):
    mixed = ((last + 1) * 2246822519) & 0xFFFFFFFF
    row = (ctypes.c_float * V)()
    for v in range(V):
        bits = ((v + 1) * 2654435761 & 0xFFFFFFFF) ^ mixed
        bits = (bits ^ (bits >> 15)) * 739982445 & 0xFFFFFFFF
        row[v] = peaks[bits >> 16] + noise * (bits & 65535) / 65536
    return row


# ---- A host in Python


def answer(work):
    """A callback that says what happened: ctypes prints an exception and lets the session go on."""
    def callback(*given):
        try:
            return work(*given) or 0
        except Exception as why:
            failures.append(why)
            return errors["engine_failed"]
    return callback


failures = []


def set_up(library):
    bound = ctypes.CDLL(library)
    for name, (result, arguments) in c.functions.items():
        function = getattr(bound, name)
        function.restype, function.argtypes = result, arguments
    return bound


def made(name, *more):
    """A struct with its defaults."""
    kind = c.types[f"specverify_{name}"]
    one = kind()
    why = getattr(lib, f"specverify_{name}_init")(one, ctypes.sizeof(kind), c.numbers["SPECVERIFY_ABI"], *more)
    expect(why, "ok")
    return one


def expect(why, name):
    said = (lib.specverify_errc_name(why.code) or b"?").decode()
    words = ctypes.create_string_buffer(256)
    lib.specverify_message(why, words, 256)
    assert said == name, f"{words.value.decode()}, not {name}; {failures}"


def sized(name):
    one = c.types[name]()
    one.struct_size = ctypes.sizeof(one)
    return one


def callbacks(name, **functions):
    one = sized(name)
    for field, function in functions.items():
        setattr(one, field, dict(one._fields_)[field](answer(function)))
    return one


def model(noise):
    rows = []

    def feed(_self, _position, tokens, count, wanted):
        rows[:] = [toy_row(tokens[count - wanted + i], noise) for i in range(wanted)]

    def row(_self, index, given):
        given[0].data = ctypes.cast(rows[index], ctypes.c_void_p)
        given[0].size = given[0].valid_size = V
        given[0].stride = 1

    return callbacks("specverify_model", feed=feed, row=row, truncate=lambda _self, _position: 0)


def link(peer):
    heard = []

    def send(_self, message, size):
        peer.stdin.write(struct.pack("<I", size) + ctypes.string_at(message, size))
        peer.stdin.flush()

    def receive(_self, _until, message, size):
        head = peer.stdout.read(4)
        if len(head) < 4:
            return errors["link_lost"]
        heard[:] = [peer.stdout.read(struct.unpack("<I", head)[0])]
        message[0] = ctypes.cast(ctypes.c_char_p(heard[0]), ctypes.c_void_p)
        size[0] = len(heard[0])
        return 0

    return callbacks("specverify_link", send=send, receive=receive, now=lambda _self: 0)


def fingerprint():
    """Of the vocabulary of tests/c/same.cpp."""
    tokens = c.types["specverify_fingerprint"]()
    high, low = ctypes.c_uint64(), ctypes.c_uint64()
    for v in range(V):
        piece = b"t%d" % v
        expect(lib.specverify_fingerprint_add(tokens, v, piece, len(piece), 1 if v == 0 else 2 if v < 10 else 0), "ok")
    expect(lib.specverify_fingerprint_finish(tokens, high, low), "ok")
    return high.value, low.value


def options(name, secret, **fields):
    one = made(name)
    one.vocab_size = V
    one.fingerprint_high, one.fingerprint_low = fingerprint()
    expect(lib.specverify_secret_from_hex(secret, one.secret), "ok")
    for field, value in fields.items():
        setattr(one, field, value)
    return one


def device(**fields):
    return options("edge_options", b"3f9a51c07be2846d15f0a97c2e64d8b3", token_budget=40, **fields)


def create(side, its_options):
    handle = ctypes.POINTER(c.types[f"specverify_{side}"])()
    why = getattr(lib, f"specverify_{side}_create")(its_options, made("system", b"k-sqs"), None, handle)
    return handle, why


def text_of(side, handle):
    count = ctypes.c_size_t()
    text = getattr(lib, f"specverify_{side}_text")(handle, count, None)
    return text[:count.value]


def run_peer(side, talk):
    """Its exit code, after `talk` with it."""
    with subprocess.Popen([os.environ["SPECVERIFY_C_PEER"], side], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as peer:
        made_of_it = talk(peer)
        peer.stdin.close()
    return made_of_it, peer.returncode


def python_device(its_options, said):
    def talk(peer):
        edge, why = create("edge", its_options)
        expect(why, "ok")
        expect(lib.specverify_edge_start(edge, (ctypes.c_int32 * 1)(1), 1, 0), "ok")
        expect(lib.specverify_generate(edge, model(2), link(peer), None), said)
        text, refusal = text_of("edge", edge), lib.specverify_edge_refusal(edge)
        lib.specverify_edge_destroy(edge)
        return text, refusal
    return run_peer("cloud", talk)


def python_cloud():
    def talk(peer):
        cloud, why = create("cloud", options("cloud_options", b"c41d08e6a27f5b9330e8d6f17a524cb9", salt=0x5EED))
        expect(why, "ok")
        expect(lib.specverify_serve(cloud, model(0), link(peer), None), "ok")
        text = text_of("cloud", cloud)
        lib.specverify_cloud_destroy(cloud)
        return text
    return run_peer("device", talk)


def check_sessions():
    (drafted, _), cloud_code = python_device(device(), "ok")
    verified, device_code = python_cloud()
    assert cloud_code == 0 and device_code == 0, (cloud_code, device_code)
    assert len(drafted) == 41 and drafted == verified, (drafted, verified)
    # Without the fingerprint that the cloud has, no token is sent.
    (text, refusal), _ = python_device(device(fingerprint_high=0, fingerprint_low=0), "refused_by_peer")
    expect(refusal, "fingerprint_mismatch")
    assert text == [1], text
    expect(create("edge", device(abi=c.numbers["SPECVERIFY_ABI"] + 1))[1], "abi_mismatch")
    assert not failures, failures
    # An exception ends the session, too.
    edge, _ = create("edge", device())
    expect(lib.specverify_edge_start(edge, (ctypes.c_int32 * 1)(1), 1, 0), "ok")
    broken = callbacks("specverify_link", send=lambda *_given: 1 / 0, receive=lambda *_given: 1 / 0,
                       now=lambda _self: 0)
    expect(lib.specverify_generate(edge, model(2), broken, None), "engine_failed")
    assert failures and all(isinstance(why, ZeroDivisionError) for why in failures), failures
    lib.specverify_edge_destroy(edge)
    return " ".join(str(token) for token in drafted)


def check_page():
    """The block of docs/c.md."""
    with open(os.path.join(os.environ["SPECVERIFY_PAGES"], "c/options.py"), encoding="utf-8") as block:
        code = block.read().replace("installed/lib/libspecverify_c.so.0.1", os.environ["SPECVERIFY_C_LIBRARY"])
    names = {"ctypes": ctypes, "EdgeOptions": c.types["specverify_edge_options"]}
    exec(code, names)
    assert names["why"] == 0 and names["options"].struct_size == ctypes.sizeof(names["options"]), names["why"]


with open("include/specverify/core/errc.def", encoding="utf-8") as listed:
    errors = {name: int(number) for name, number in re.findall(r"SPECVERIFY_ERRC\((\w+), (\d+)", listed.read())}
headers = [f"include/specverify_c{part}.h" for part in ("_base", "_core", "")]
c = Headers(*headers)
if not (check_headers(c) and check_number(c)):
    sys.exit(1)
print(f"{len(c.callbacks)} callbacks, {len(c.functions)} functions")
if "SPECVERIFY_C_LIBRARY" in os.environ:
    lib = set_up(os.environ["SPECVERIFY_C_LIBRARY"])
    check_page()
    print(check_sessions())
