"""The `unseen` command."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import cleandoc
from typing import Annotated, Any

import typer

from unseen.cli import (
    check,
    demo,
    doctor,
    duplicates,
    export,
    extract,
    labels,
    leaderboard,
    panel,
    papers,
    power,
    probe,
    report,
    show,
)
from unseen.cli import run as run_command
from unseen.cli.asked import asked_for
from unseen.cli.command import Command, Group
from unseen.cli.levels.commands import app as levels
from unseen.cli.ls.command import ls
from unseen.cli.shifts.commands import app as shifts
from unseen.cli.starting import starting
from unseen.errors import JobsError, OtherPartsError, UserError, naming_options
from unseen.extras import naming_extras
from unseen.text.words import printable
from unseen.version import __version__

# Typer's class of usage errors, which it does not export.
UsageError: Any = typer.BadParameter.__bases__[0]

INTERRUPTED = 130
COMPLETION = "_UNSEEN_COMPLETE"
NEAR = 40
"""Characters shown on both sides of one that cannot be written."""
"""The variable that shells set to ask for completions."""

START, MEASURE, RESULTS, TOOLS = "Start here", "Measure", "Results", "Levels, lists and installation"

app = typer.Typer(
    name="unseen",
    help="Measure how well visual representations generalise to unseen concepts, tasks and distribution shifts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("demo", rich_help_panel=START)(demo.demo)
app.command("probe", rich_help_panel=START)(probe.probe)
app.command("run", rich_help_panel=MEASURE)(run_command.run)
app.command("show", rich_help_panel=MEASURE)(show.show)
app.command("power", rich_help_panel=MEASURE)(power.power)
app.command("extract", rich_help_panel=MEASURE)(extract.extract)
app.add_typer(shifts, name="shifts", rich_help_panel=MEASURE)
app.command("report", rich_help_panel=RESULTS)(report.report)
app.command("leaderboard", rich_help_panel=RESULTS)(leaderboard.leaderboard)
app.command("export", rich_help_panel=RESULTS)(export.export)
app.command("check", rich_help_panel=RESULTS)(check.check)
app.command("duplicates", rich_help_panel=RESULTS)(duplicates.duplicates)
app.command("labels", rich_help_panel=RESULTS)(labels.labels)
app.command("panel", rich_help_panel=RESULTS)(panel.panel)
app.add_typer(papers.app, name="papers", rich_help_panel=RESULTS)
app.add_typer(levels, name="levels", rich_help_panel=TOOLS)
app.command("ls", rich_help_panel=TOOLS)(ls)
app.command("doctor", rich_help_panel=TOOLS)(doctor.doctor)


def _complete(group: typer.Typer) -> None:
    """Give all groups and commands our classes, and join the lines of docstrings: help fills the terminal's width."""
    group.info.cls = Group
    for command in group.registered_commands:
        command.cls = Command
        paragraphs = cleandoc(getattr(command.callback, "__doc__", None) or "").split("\n\n")
        command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    for below in group.registered_groups:
        if below.typer_instance is not None:
            _complete(below.typer_instance)


_complete(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"unseen {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def _tree() -> typer.Typer:
    """The commands, complete if a shell asks for completions, in which case the arguments do not name the command."""
    return app if COMPLETION in os.environ else asked_for(app, sys.argv[1:])


def run() -> None:
    """Run the command line; a user's mistake is one sentence on standard error and exit code 2."""
    for stream in (sys.stdout, sys.stderr):  # characters that a terminal lacks become question marks, not tracebacks
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        with naming_options(), naming_extras(), _naming_empty_files(), starting(sys.argv[1:]):
            code = _tree()(standalone_mode=False)
        sys.stdout.flush()
    except UserError as error:
        partly = isinstance(error, JobsError) and error.done
        _fail(str(error), 0 if isinstance(error, OtherPartsError) else 1 if partly else 2)
    except UsageError as error:
        message = error.format_message()
        if type(error).__name__ == "NoArgsIsHelpError":  # the message is the help page
            typer.echo(message)
            sys.exit(0)
        context = error.ctx
        command = context.command_path if context else "unseen"
        end = " See" if message.endswith("?") else "; see"
        _fail(f"{message.rstrip('.')}{end} {command} --help")
    except BrokenPipeError:  # the reader of our output has closed, as in `unseen levels show cog-v2 | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError:
        _fail("not enough memory; reduce the size of the problem")
    except (OSError, UnicodeError) as error:
        _fail(_of_a_file(error))
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except RuntimeError as error:
        message = _want_of_memory(error)
        if message is None:
            raise
        _fail(message)
    if code == INTERRUPTED:
        typer.echo("unseen: interrupted; run the same command again to resume", err=True)
    sys.exit(code if isinstance(code, int) else 0)


def _of_a_file(error: OSError | UnicodeError) -> str:
    """The sentence on a file that cannot be used, with its name."""
    if isinstance(error, UnicodeEncodeError):  # half of a pair, which stands for a byte in a name that is not UTF-8
        text = error.object[max(error.start - NEAR, 0) : error.end + NEAR]
        return f"{text!a} is in a name that is not UTF-8 text; rename the file or folder"
    return f"{getattr(error, 'filename', None) or 'a file'}: {getattr(error, 'strerror', None) or error}"


@contextmanager
def _naming_empty_files() -> Iterator[None]:
    """Distinguish empty files from interruptions: readers raise EOFError for them, which Typer treats as Ctrl-D."""
    try:
        yield
    except typer.Abort as error:
        if isinstance(error.__cause__, EOFError):
            raise UserError("a file is empty or truncated; get it again") from None
        raise


def _want_of_memory(error: RuntimeError) -> str | None:
    """A sentence for PyTorch's errors about memory; None for any other error."""
    from unseen.features.batches import death_of_a_worker, is_dead_worker

    if is_dead_worker(error):  # may be noticed only after the work on its batches
        return death_of_a_worker()
    if type(error).__name__ == "OutOfMemoryError":  # PyTorch's, which is slow to import
        return (
            "not enough GPU memory; stop other programs on the GPU, or set a smaller batch (--set "
            "batch=32), and run the same command again to resume"
        )
    return None


def _fail(message: str, code: int = 2) -> None:
    typer.echo(f"unseen: {printable(' '.join(message.split()))}", err=True)
    sys.exit(code)
