"""The simulated target with tools: it reads where its search leads, runs one script, and says what came of it."""

from __future__ import annotations

from typing import Any

from daemon.demo.conversation import Call, Conversation
from daemon.demo.tool_player import work_with_tools
from daemon.demo.wordings import Kind, Request, render

FILES = frozenset({"list_files", "read_file", "search_text"})
QUESTION = (
    "Answer the question from the Treasury Bulletin text in this folder: report.txt.\n\n"
    "What was the gross of Harbour Works in 1951?\n\nEnd your reply with the answer alone.\n\n"
    "The files:\n  report.txt (61,000 bytes)\nYou have 24 replies, the final answer among them."
)
TABLE = "| Item | 1950 | 1951 |\n| Inland Posts | 1 | 2 |\n| Harbour Works | 3 | 5,506 |"
SHEET = Request(Kind.PRODUCT, "Invoice.xlsx", "Invoice", "D", 2, 7, "B", second="C")


def conversation(prompt: str, *calls: Call, tools: frozenset[str] = FILES) -> Conversation:
    given: dict[str, Any] = {"model": "m", "system": "", "schema_name": "", "digest": "d"}
    return Conversation(texts=(prompt,), calls=calls, tools=tools, fresh_chars=1, cached_chars=0, **given)


def test_it_searches_reads_there_and_answers_from_what_it_read() -> None:
    first = work_with_tools(conversation(QUESTION)).calls[0]
    assert (first.name, first.arguments) == ("search_text", {"query": "1951", "path": "report.txt"})
    found = Call(first.name, first.arguments, "report.txt, offset 9000: | Item | 1950 | 1951 |")
    second = work_with_tools(conversation(QUESTION, found)).calls[0]
    assert (second.name, second.arguments["offset"]) == ("read_file", 7000)
    read = Call(second.name, second.arguments, f"report.txt, characters 7000 to 13000 of 61000:\n{TABLE}")
    last = work_with_tools(conversation(QUESTION, found, read))
    assert (last.calls, "5,506" in last.text) == ((), True)


def test_what_is_not_found_is_read_from_the_start_and_not_known() -> None:
    nothing = Call("search_text", {}, "'1951' is in no text file")
    assert work_with_tools(conversation(QUESTION, nothing)).calls[0].arguments["offset"] == 0
    refused = Call("read_file", {}, "there is no file 'report.txt': list_files gives the names")
    assert "nothing" in work_with_tools(conversation(QUESTION, nothing, refused)).text
    assert work_with_tools(conversation("Who are you?")).text == "I do not understand what the task asks for."


def test_a_workbook_is_filled_by_one_script_and_its_end_is_told() -> None:
    prompt = render(SHEET, 0)
    tools = FILES | {"run_python"}
    (call,) = work_with_tools(conversation(prompt, tools=tools)).calls
    assert (call.name, "openpyxl" in call.arguments["code"]) == ("run_python", True)
    done = Call(call.name, call.arguments, "exit code 0\nwrote 6 values\nfiles changed: add output.xlsx")
    assert work_with_tools(conversation(prompt, done, tools=tools)).text == (
        "Done: wrote 6 values. The result is in output.xlsx."
    )
    failed = Call(call.name, call.arguments, "exit code 1\nstderr:\nKeyError")
    assert "failed" in work_with_tools(conversation(prompt, failed, tools=tools)).text
