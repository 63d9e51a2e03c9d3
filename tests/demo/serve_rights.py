#!/usr/bin/env python3
"""serve_rights.py [EDGE_CLOUD [_ CHECK...]]: files that others may read or replace are refused by name, and so is a
number with a leading zero. Files of another user need root; without it these checks are left out."""
import os
import subprocess

from serving import certificates, key_of, private, run_checks

STRANGER = 12345  # a user id
NOBODY_LISTENS = ["--connect", "127.0.0.1:1", "--connect-seconds", 1]


def says(world, name, arguments, *words):
    """The program ends with 1 and these words."""
    child = world.start(name, arguments)
    try:
        code = child.wait(timeout=20)
    except subprocess.TimeoutExpired:
        child.kill()
        code = "running"
    log = world.log(name)
    for said in words:
        assert code == 1 and said in log, f"{name} is {code} and does not say {said!r}:\n{log}"


def device_says(world, key, *words):
    says(world, "device", ["device", "--device-id", 1, "--device-key-file", key, "--state-dir", world.folder / "me",
                           *NOBODY_LISTENS], *words)


def server_says(world, arguments, *words):
    says(world, "serve", ["serve", "--port", 0, "--state-dir", world.folder / "server", *map(str, arguments)], *words)


def folder_with(world, mode, name, text):
    """A private file in a folder of this mode."""
    folder = world.folder / "folder"
    folder.mkdir(exist_ok=True)
    file = private(folder / name, text)
    folder.chmod(mode)
    return file


def in_a_folder_open_to_all(world):
    """Whoever may write to the folder may put a key of his own there. The sticky bit is not enough for it, but for /tmp
    above it."""
    for mode in (0o777, 0o1777, 0o770):
        key = folder_with(world, mode, "key", key_of(1))
        device_says(world, key, f"--device-key-file {key}: others can replace it; run: chmod go-w {key.parent}")
        devices = folder_with(world, mode, "devices", f"1 {key_of(1)}\n")
        server_says(world, ["--devices", devices], f"--devices {devices}: others can replace it")
        secret = folder_with(world, mode, "secret", "00112233445566778899aabbccddeeff")
        known = private(world.folder / "devices", f"1 {key_of(1)}\n")
        server_says(world, ["--devices", known, "--secret-file", secret], f"--secret-file {secret}: others can replace it")
    (world.folder / "folder").chmod(0o755)
    device_says(world, key, "Connection refused")


def below_a_folder_open_to_all(world):
    """The folder above counts, too, and so does the place of a symbolic link."""
    above = world.folder / "above"
    own = above / "own"
    own.mkdir(parents=True)
    key = private(own / "key", key_of(1))
    (world.folder / "link").symlink_to(key)
    above.chmod(0o777)
    for name in (key, world.folder / "link"):
        device_says(world, name, f"--device-key-file {name}: others can replace it; run: chmod go-w {above}")
    above.chmod(0o1777)
    device_says(world, key, "Connection refused")
    own.chmod(0o700)
    above.chmod(0o777)
    known = private(world.folder / "devices", f"1 {key_of(1)}\n")
    says(world, "serve", ["serve", "--port", 0, "--state-dir", own, "--devices", known],
         f"--state-dir {own}: others can replace it")


def of_another_owner(world):
    """As root, who may read all of them."""
    if os.geteuid() != 0:
        return print("left out: files of another owner need root")
    belongs = "it belongs to another user; run: chown 0 "
    key = private(world.folder / "stranger" / "key", key_of(1))
    os.chown(key, STRANGER, 0)
    device_says(world, key, f"--device-key-file {key}: {belongs}{key}")
    os.chown(key, 0, 0)
    os.chown(key.parent, STRANGER, 0)
    device_says(world, key, f"--device-key-file {key}: the owner of {key.parent} can replace it")
    os.chown(key.parent, 0, 0)
    device_says(world, key, "Connection refused")
    devices = private(world.folder / "devices", f"1 {key_of(1)}\n")
    os.chown(devices, STRANGER, 0)
    server_says(world, ["--devices", devices], f"--devices {devices}: {belongs}{devices}")
    os.chown(devices, 0, 0)
    journal = private(world.folder / "server" / "sessions" / "0000000000000001" / "journal", "")
    (world.folder / "server").chmod(0o700)
    os.chown(journal, STRANGER, 0)
    server_says(world, ["--devices", devices], f"--state-dir {journal}: {belongs}{journal}")


def certificates_that_others_write(world):
    """An authority that others can replace lets anybody in."""
    folder = world.folder
    certificates(folder)
    certified = ["--tls-certificate", folder / "server.pem", "--tls-key", folder / "server.key", "--tls-client-ca",
                 folder / "ca.pem"]
    for name, option in (("ca.pem", "--tls-client-ca"), ("server.pem", "--tls-certificate")):
        (folder / name).chmod(0o666)
        server_says(world, certified, f"{option} {folder / name}: others may write to it; run: chmod go-w {folder / name}")
        (folder / name).chmod(0o644)
        if os.geteuid() == 0:
            os.chown(folder / name, STRANGER, 0)
            server_says(world, certified, f"{option} {folder / name}: it belongs to another user")
            os.chown(folder / name, 0, 0)


def numbers_with_a_leading_zero(world):
    """A device has one name."""
    folder = world.folder
    certificates(folder)
    server = world.serve("certified", "--tls-certificate", folder / "server.pem", "--tls-key", folder / "server.key",
                         "--tls-client-ca", folder / "ca.pem", keys=False)
    says(world, "padded", ["device", "--connect", f"127.0.0.1:{server.port}", "--state-dir", folder / "padded",
                           "--tls-ca", folder / "ca.pem", "--tls-certificate", folder / "padded.pem", "--tls-key",
                           folder / "padded.key", "--tokens", 4],
         "refuses (certificate): the certificate has no device id", "without leading zeros")
    server.stop()
    zeros = "without leading zeros"
    server_says(world, ["--devices", private(folder / "devices", f"05 {key_of(5)}\n")], zeros)
    private(folder / "me" / "session", "05\n")
    (folder / "me").chmod(0o700)
    device_says(world, private(folder / "key", key_of(1)), "not a session id")


def more_than_a_key(world):
    """What stands behind a key is read by nobody, so it is refused."""
    device_says(world, private(world.folder / "key", f"{key_of(1)}\n{key_of(2)}\n"), "a key must have 64 hex digits")


if __name__ == "__main__":
    run_checks("serve_rights", [in_a_folder_open_to_all, below_a_folder_open_to_all, of_another_owner,
                                certificates_that_others_write, numbers_with_a_leading_zero, more_than_a_key])
