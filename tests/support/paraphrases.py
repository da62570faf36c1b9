"""Pairs of rules that would stand at one place of a skill: what `skills_repo.likeness` has to tell apart.

`SAME` are paraphrases, some of them far in words; `DIFFERENT` are other rules about the same thing, some of them near.
"""

from __future__ import annotations

SAME = (
    ("Always write dates as YYYY-MM-DD.", "Use the format YYYY-MM-DD for all dates."),
    ("Round amounts to two decimals before you compare them.", "Before comparing amounts, round them to 2 decimals."),
    ("Never write formulas; write the computed values.", "Write computed values instead of formulas."),
    ("Trim spaces from keys before joining two tables.", "Strip whitespace off the keys before the tables are joined."),
    ("Answer with the value alone, without a sentence.", "Give only the value as the answer, not a full sentence."),
    ("Read the task twice before you write anything.", "Before writing anything, re-read the task."),
    (
        "Save the workbook under the file name that the task gives.",
        "Use the file name given in the task when you save the workbook.",
    ),
    (
        "Write codes in upper case with one hyphen between letters and digits.",
        "Codes must be upper-case, with a single hyphen separating letters and digits.",
    ),
    (
        "Fill every row of the target range down to its last row.",
        "Make sure that each row in the target range is filled, down to the last row.",
    ),
    ("Work on the sheet that the target range names.", "Use the sheet named by the target range."),
    ("Do not change fonts, colours or column widths.", "Leave fonts, colours and column widths unchanged."),
    ("If a cell is empty, write 0 in its place.", "Put 0 into cells that are empty."),
    ("Check that totals add up before you save.", "Before saving, verify that the totals add up."),
    ("Use commas as thousands separators in all amounts.", "All amounts take a comma as thousands separator."),
    ("Skip header rows when you count records.", "When counting records, do not count header rows."),
    ("Give times in 24-hour format with a colon.", "Times must use the 24-hour format, e.g. with a colon."),
    ("Sort the result by date, newest first.", "Results are to be sorted by date with the newest on top."),
    (
        "Quote file names that contain spaces in shell commands.",
        "In shell commands, put file names with spaces in quotes.",
    ),
    ("Ask for the currency if the invoice does not name one.", "If no currency is named on the invoice, ask for it."),
    ("Run the unit tests before you answer.", "Before answering, run all unit tests."),
    (
        "Convert text that looks like a number into a number.",
        "Text looking like numbers should be converted to numbers.",
    ),
    (
        "Prefer pdfplumber over regular expressions for reading tables.",
        "For reading tables, use pdfplumber rather than regular expressions.",
    ),
    ("Name the source of every figure in the summary.", "Every figure in the summary needs its source named."),
    ("Keep the summary under one hundred words.", "The summary must stay below one hundred words."),
    ("Write dates as YYYY-MM-DD.", "Use ISO 8601 for dates."),
    ("Leave out the currency symbol.", "Omit the symbol of the currency."),
    ("Stop at the first blank line of the file.", "The first empty line of the file ends the input: stop there."),
    ("Write amounts without a thousands separator.", "Amounts carry no separator for thousands."),
    ("Close the workbook before you answer.", "Make sure the workbook is closed before answering."),
    ("Compare names without regard to letter case.", "Ignore upper and lower case when comparing names."),
    (
        "List every file you changed at the end of the answer.",
        "End the answer with a list of all files that were changed.",
    ),
    (
        "Take the tax rate from the invoice, never from memory.",
        "The tax rate comes from the invoice; do not recall it from memory.",
    ),
)
DIFFERENT = (
    ("Always write dates as YYYY-MM-DD.", "Always write times as HH:MM."),
    ("Round amounts to two decimals before you compare them.", "Convert amounts to euros before you add them."),
    ("Never write formulas; write the computed values.", "Never write to hidden sheets."),
    ("Trim spaces from keys before joining two tables.", "Drop duplicate rows after joining two tables."),
    ("Answer with the value alone, without a sentence.", "Answer in the language of the question."),
    ("Read the task twice before you write anything.", "Open the workbook with openpyxl before you write anything."),
    ("Save the workbook under the file name that the task gives.", "Save a copy of the workbook before changing it."),
    (
        "Write codes in upper case with one hyphen between letters and digits.",
        "Write names with a capital first letter.",
    ),
    ("Fill every row of the target range down to its last row.", "Clear the target range before filling it."),
    ("Work on the sheet that the target range names.", "Hide the sheets that are not needed."),
    ("Do not change fonts, colours or column widths.", "Do not add comments or notes to cells."),
    ("If a cell is empty, write 0 in its place.", "If a cell holds an error, write N/A in its place."),
    ("Check that totals add up before you save.", "Check that no file is open before you save."),
    ("Use commas as thousands separators in all amounts.", "Use a minus sign for negative amounts."),
    ("Skip header rows when you count records.", "Skip records that are marked as deleted."),
    ("Give times in 24-hour format with a colon.", "Give durations in minutes."),
    ("Sort the result by date, newest first.", "Group the result by customer."),
    ("Quote file names that contain spaces in shell commands.", "Avoid shell commands that need root rights."),
    ("Ask for the currency if the invoice does not name one.", "Ask for the due date if the invoice has none."),
    ("Run the unit tests before you answer.", "Run the linter on changed files only."),
    ("Convert text that looks like a number into a number.", "Convert percentages into fractions."),
    ("Prefer pdfplumber over regular expressions for reading tables.", "Prefer short variable names in scripts."),
    ("Name the source of every figure in the summary.", "Put the summary at the top of the report."),
    ("Keep the summary under one hundred words.", "Keep one blank line between sections."),
    ("Round amounts to two decimals.", "Round amounts to four decimals."),
    ("Sort the result by date, newest first.", "Sort the result by name, A to Z."),
    ("Always work on the first sheet of the workbook.", "Always save the first sheet of the workbook."),
    ("Use a comma as the thousands separator.", "Use a point as the decimal separator."),
    ("Copy the header row into every new sheet.", "Delete the header row of every old sheet."),
    ("Name columns in English.", "Name sheets in English and columns in German."),
    ("Take the tax rate from the invoice, never from memory.", "Take the due date from the invoice header."),
    ("List every file you changed at the end of the answer.", "List open questions at the end of the answer."),
)
