#!/usr/bin/env python3
"""serve_usage.py [EDGE_CLOUD [_ CHECK...]]: a device's certificate is good for a device alone, and a server's for a server
alone; and the commands of docs/serving.md make certificates that both programs take."""
import pathlib
import re
import shutil
import subprocess
import sys

from serving import certificates, run_checks


def certified(folder, name):
    return ["--tls-certificate", folder / (name + ".pem"), "--tls-key", folder / (name + ".key")]


def refused(world, name, server_of, device_of, *words):
    """The device ends with 1, at once, and it or the server says these words."""
    folder = world.folder
    certificates(folder)
    server = world.serve("server", *certified(folder, server_of), "--tls-client-ca", folder / "ca.pem", keys=False)
    child = world.device("device", server.port, 5, 1, "--tls-ca", folder / "ca.pem", *certified(folder, device_of),
                         keys=False, tokens=4)
    assert child.wait(timeout=60) == 1, f"{name} is taken:\n" + world.log("device")
    server.stop()
    for said in words:
        assert said in world.log("device") + world.log("server"), world.log("device") + world.log("server")


def server_without_usage(world):
    refused(world, "a server's certificate without serverAuth", "usageless", "device", "is not trusted",
            "unsuitable certificate purpose", "--tls-ca")


def device_plays_the_server(world):
    """It has a certificate of the authority, and the name that is dialled."""
    refused(world, "a device as server", "device", "device", "is not trusted")


def device_without_usage(world):
    refused(world, "a device's certificate without clientAuth", "server", "usageless_device", "does not accept this",
            "(handshake)", "unsuitable certificate purpose")


def server_plays_a_device(world):
    refused(world, "a server as device", "server", "device_as_server", "does not accept this", "(handshake)")


def commands_of_the_page(world):
    """As a reader types them. The device then writes a text."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "serving.md").read_text()
    block = re.search(r"((?:^    .*\n)+)", page[page.index("## With TLS"):], re.M).group(1)
    folder = world.folder / "page"
    folder.mkdir()
    subprocess.run(["sh", "-e"], input=block, text=True, cwd=folder, check=True, capture_output=True)
    server = world.serve("server", *certified(folder, "server"), "--tls-client-ca", folder / "ca.pem", keys=False)
    child = world.device("device", server.port, 7, 1, "--tls-ca", folder / "ca.pem", "--tls-name", "cloud.example",
                         *certified(folder, "device"), keys=False, tokens=4)
    assert len(world.text("device", child)) == 4
    assert "device 7 opens session 1" in world.log("server"), world.log("server")
    server.stop()


if __name__ == "__main__":
    if shutil.which("openssl") is None:
        print("SKIPPED: no openssl to make certificates with")
        sys.exit(77)
    run_checks("serve_usage", [server_without_usage, device_plays_the_server, device_without_usage, server_plays_a_device,
                               commands_of_the_page])
