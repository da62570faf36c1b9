"""The simulated target agent. Honest: it acts on the text it was given and on tool outputs, and on nothing else.

It works through the CLI's own tools on the real files, in two or three turns: open the skill if it is only listed, run
one script, report. It knows no task, no gold answer and no trap.
"""

from __future__ import annotations

import re
import shlex

from daemon.demo.bench_target import answer_benchmark, page_asked
from daemon.demo.chat_target import answer_question
from daemon.demo.conversation import Call, Conversation, Reply
from daemon.demo.household_player import next_command
from daemon.demo.planner import command
from daemon.demo.rules import read_habits
from daemon.demo.skill_reading import delivered_skill, listed_skill, opens_skill
from daemon.demo.tool_player import work_with_tools
from daemon.demo.wordings import OUTPUT, read_request

_RUNNING = re.compile(r"Process running with session ID (\d+)")
_FAILED = re.compile(r"^Traceback \(most recent|^Process exited with code [1-9]|^Exit code [1-9]", re.MULTILINE)
_FOLDER = re.compile(r"(?i)working directory: (/\S+)")
_WAIT_MS = 30_000


def act(conversation: Conversation) -> Reply:
    """The next turn."""
    if not conversation.tools:
        return Reply(answer_question(conversation))
    if conversation.tools == {"act"}:
        return _play(conversation)
    if "read_file" in conversation.tools:
        return work_with_tools(conversation)
    if not ({"exec_command", "Bash"} & conversation.tools):
        return Reply("I have no tool to run commands with.")
    return _act_by_shell(conversation, "\n".join(conversation.texts))


def _act_by_shell(conversation: Conversation, prompt: str) -> Reply:
    """The next turn of a CLI."""
    if "Act by running `act COMMAND`" in prompt:
        return _play_by_shell(conversation, prompt)
    page = page_asked(prompt)
    if page is not None:
        return _look(page, conversation, prompt)
    return _work(conversation, prompt)


def _work(conversation: Conversation, prompt: str) -> Reply:
    """Open the skill, run one script, report."""
    done = [call for call in conversation.calls if not opens_skill(call.name, str(dict(call.arguments)))]
    if done:
        return _report(done[-1], conversation)
    skill = delivered_skill(conversation)
    if not skill and not conversation.calls:
        opening = _open_skill(conversation)
        if opening:
            return Reply("I will read the skill first.", (opening,))
    request = read_request(prompt)
    if request is None:
        return Reply("I do not understand what the task asks for.")
    return Reply("I will do it with a short script.", (_shell(conversation, command(request, read_habits(skill))),))


def _play(conversation: Conversation) -> Reply:
    """One command of a household game."""
    steps = [(str(call.arguments.get("command", "")), call.output or "") for call in conversation.calls]
    line = next_command("\n".join(conversation.texts), steps)
    return Reply("I do not know what to try next.") if line is None else Reply("", (Call("act", {"command": line}),))


def _play_by_shell(conversation: Conversation, prompt: str) -> Reply:
    """The same through the command `act`."""
    lines = [
        (str(call.arguments.get("cmd") or call.arguments.get("command") or ""), call) for call in conversation.calls
    ]
    steps = [(line.removeprefix("act "), call.output or "") for line, call in lines if line.startswith("act ")]
    if steps and re.search(r"The task is done|The game is over", steps[-1][1]):
        return Reply(f"It is over after {len(steps)} commands.")
    line = next_command(prompt, steps)
    return (
        Reply("I do not know what to try next.") if line is None else Reply("", (_shell(conversation, f"act {line}"),))
    )


def _look(page: str, conversation: Conversation, prompt: str) -> Reply:
    """Answer a question about a page from its image; a CLI that shows none is asked to open it, once."""
    skill = delivered_skill(conversation)
    if not conversation.images and "Read" in conversation.tools and not conversation.calls:
        where = _FOLDER.search(prompt)
        return Reply("I will look at the page.", (Call("Read", {"file_path": f"{where[1] if where else '.'}/{page}"}),))
    return Reply(answer_benchmark(prompt, conversation.images, skill) or "I cannot see the page.")


def _open_skill(conversation: Conversation) -> Call | None:
    listed = listed_skill(conversation)
    if listed is None:
        return None
    if listed.path:
        return _shell(conversation, f"cat {shlex.quote(listed.path)}")
    return Call("Skill", {"skill": listed.name}) if "Skill" in conversation.tools else None


def _shell(conversation: Conversation, line: str) -> Call:
    if "exec_command" in conversation.tools:
        return Call("exec_command", {"cmd": line, "yield_time_ms": _WAIT_MS})
    return Call("Bash", {"command": line, "description": "Work on the file"})


def _report(call: Call, conversation: Conversation) -> Reply:
    output = call.output or ""
    running = _RUNNING.search(output)
    if running and "write_stdin" in conversation.tools:
        poll = {"session_id": int(running[1]), "chars": "", "yield_time_ms": _WAIT_MS}
        return Reply("The script is still running.", (Call("write_stdin", poll),))
    if _FAILED.search(output):
        return Reply("I could not finish the task: the script failed.")
    said = output.rpartition("Output:\n")[2].strip().splitlines()
    return Reply(f"Done: {said[0] if said else 'the script ran'}. The result is in {OUTPUT}.")
