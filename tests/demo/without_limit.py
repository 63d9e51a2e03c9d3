"""What serve_limits.py and serve_bounds.py share: attacks on a server, and on one that lets go of the limit in question."""
import concurrent.futures
import sys

from serving import World


class Attack:
    """`run(server, hello)` is true where the server holds. The limit has the function's name, if no other is given."""

    def __init__(self, run, *arguments, limit=None, ulimit=None):
        self.run, self.arguments, self.name = run, arguments, run.__name__
        self.limit, self.ulimit = limit or self.name, ulimit

    def wrong(self, program, lifted, without):
        """What is wrong, or None. The server holds, and without the limit it does not: in one of three attacks, since a
        busy machine may slow the attack down, not the server."""
        for _ in range(3 if without else 1):
            found = self.attacked(program, lifted, without)
            if found is None:
                return None
        return found

    def attacked(self, program, lifted, without):
        with World(program) as world:
            hello = world.recorded_hello()
            server = world.serve("server", *self.arguments, lifted=self.limit if without else None,
                                 program=lifted if without else program, ulimit=self.ulimit)
            if self.run(server, hello) != without:
                return None
            return f"{self.name}: {'holds without the limit' if without else 'does not hold'}\n" + world.log("server")


def run_all(title, attacks):
    """Of the program's arguments: EDGE_CLOUD EDGE_CLOUD_LIFTED [ATTACK...]."""
    program, lifted = sys.argv[1:3]
    wanted = [attack for attack in attacks if attack.name in (sys.argv[3:] or [attack.name])]
    with concurrent.futures.ThreadPoolExecutor(6) as workers:
        done = [workers.submit(attack.wrong, program, lifted, without) for attack in wanted for without in (False, True)]
        failed = [found for found in (each.result() for each in done) if found]
    print(f"{title}: {len(wanted)} attacks, each with a server that lets its limit go")
    sys.exit("FAILED: " + "\n".join(failed) if failed else 0)
