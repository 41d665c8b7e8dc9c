"""What the keys of the live view do."""

from typing import Final

#: At the bottom, as far as there is room.
HINT: Final = (
    "q quit  ? help  / filter  s sort  1-4 parts  l log  ⏎ show  x stop  r resume  p first  m mine"
)

TEXT: Final = """\
Move        ↑ ↓ PgUp PgDn Home End, or j k g G
            Tab and Shift-Tab go to the next part

See         1 jobs  2 slices  3 queues  4 log: show a part, or hide it
            /     only rows with these words; empty, or Esc: all rows
            s S   sort by the next column; the other way round
            m     only your own jobs, or everybody's
            Enter all about a job or a task; the tasks of a queue, or none
            l     the log of a job or of a task, followed as it grows

Do          x     stop a job: asks; its slice stays, and costs
            r     resume a job
            p     put a task first in its queue; on a queue: asks which one

            ?     this page
            q     quit; Ctrl-Z suspends, `fg` comes back

Slices, and lines of the log, are of a job: what is done there is done with that.
Parts and their order are kept for the next time.
"""
