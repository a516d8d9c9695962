"""Puts a table into a page, between the comments `<!-- NAME -->` and `<!-- end of NAME -->`.

    python tests/onnx/table.py FOLDER/NAME.md PAGE.md
"""

import sys
from pathlib import Path

table, page = map(Path, sys.argv[1:])
begin, end = f"<!-- {table.stem} -->\n", f"<!-- end of {table.stem} -->"
text = page.read_text(encoding="utf-8")
if begin not in text or end not in text:
    sys.exit(f"error: {page} has no {begin.strip()} and {end}")
before, _, rest = text.partition(begin)
page.write_text(before + begin + table.read_text(encoding="utf-8") + end + rest.partition(end)[2], encoding="utf-8")
