"""The command line: `burn-wgpu info | doctor | bench | inspect | convert`. One file a command.

May import everything. A command is a module with `HELP`, `add_arguments(parser)` and `run(args) -> exit status`.
An error of ours is one line on stderr and exit status 1; a traceback is a defect.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys

COMMANDS = ("info", "doctor", "bench", "inspect", "convert", "ops")


def main(argv: list[str] | None = None) -> int:
    """Runs a command; gives the exit status."""
    from burn_wgpu.std.errors import BurnError

    parser = argparse.ArgumentParser(prog="burn-wgpu", description="Burn for Python on WebGPU: look, check, measure.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    modules = {}
    for name in COMMANDS:
        module = modules[name] = importlib.import_module(f"burn_wgpu.cli.{name}")
        module.add_arguments(commands.add_parser(name, help=module.HELP, description=module.HELP))
    args = parser.parse_args(argv)
    try:
        return int(modules[args.command].run(args))
    except BrokenPipeError:  # the reader of our output has gone, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("burn-wgpu: interrupted", file=sys.stderr)
        return 130
    except MemoryError as error:
        text = one_line(str(error)).rstrip(".")
        print(f"burn-wgpu {args.command}: the host's memory does not suffice ({text or 'allocation'})", file=sys.stderr)
        return 1
    except (BurnError, OSError) as error:
        text = one_line(str(error)).removeprefix(f"{args.command}: ")  # of an operation with the command's name
        print(f"burn-wgpu {args.command}: {text}", file=sys.stderr)
        return 1


def one_line(text: str) -> str:
    """Text as one printable line: names in files may hold anything."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text.replace("\n", " "))
