"""Compiled matching: whether the attributes of an event satisfy predicates, and programs of predicates.

A verdict is one of three: what only Python can tell, such as an operator of an application, is left
undecided, and counts in conjunctions, alternatives and negations as in Kleene's logic.
"""

from __future__ import annotations

import numpy as np

from bypass.mechanisms.filters.indexes.buckets import NONE
from bypass.mechanisms.matching.postings import GROUP, INLINE, K_COUNT, K_START, REST, SLOT, TESTS
from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import kernel

FALSE, UNDECIDED, TRUE = range(3)

(
    EXISTS, EQUAL, DIFFERENT, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, ONE_OF, MARKED, HAS_ELEMENT,
    INTERSECTS, WITHIN, IN_PYTHON, ALWAYS_IN_PYTHON,
) = range(14)  # fmt: skip
"""Operations of predicates; those before ONE_OF compare one value with one constant."""

OP, NAME, KIND, SYMBOL, START, COUNT = range(6)  # columns of `predicates`, and where a list of symbols stands
LOW, HIGH = range(
    2
)  # columns of `constants` and `numbers`: the value lies between; it is both if they are equal
V_NAME, V_KIND, V_SYMBOL, V_START, V_COUNT = range(5)  # columns of `values`
P_START, P_COUNT, P_PLAIN = range(3)  # columns of `programs`; plain: a conjunction of predicates

AND, OR, NOT = range(3)
"""Joins in programs, written as -(3 * number of operands + join) - 1."""


@kernel
def holds(symbols: Ints, start: int, count: int, symbol: int) -> bool:
    """Whether a symbol is in an ascending list that stands at `start`."""
    low, high = start, start + count
    while low < high:
        middle = (low + high) // 2
        if symbols[middle] < symbol:
            low = middle + 1
        else:
            high = middle
    return low < start + count and symbols[low] == symbol


@kernel
def ordered(op: int, low: float, high: float, least: float, most: float) -> int:
    """Compare a value between `low` and `high` with a constant between `least` and `most`.

    Bounds that are equal are the value itself; others are not, but for the lower bound of a text.
    """
    if least == most:
        if op == LESS:
            return TRUE if low < least else FALSE
        if op == LESS_EQUAL:
            return TRUE if high <= least else FALSE
        if op == GREATER:
            return TRUE if high > least else FALSE
        return TRUE if low >= least else FALSE
    below, above = high <= least, low >= most
    if op in (LESS, LESS_EQUAL):
        return TRUE if below else (FALSE if above else UNDECIDED)
    return TRUE if above else (FALSE if below else UNDECIDED)


@kernel
def compared(
    op: int, kind: int, symbol: int, least: float, most: float,
    own_kind: int, own_symbol: int, low: float, high: float,
) -> int:  # fmt: skip
    """Compare a value, of which the last four arguments tell, with the constant of a predicate."""
    if op == EXISTS:
        return TRUE
    if op == EQUAL:
        return TRUE if own_symbol == symbol else FALSE
    if own_kind != kind:
        return FALSE
    if op == DIFFERENT:
        return TRUE if own_symbol != symbol else FALSE
    if low != low:  # NaN, which compares with nothing
        return FALSE
    return ordered(op, low, high, least, most)


@kernel
def truth_of_value(
    p: int, predicates: Ints, constants: Floats, pool: Ints, v: int, values: Ints, numbers: Floats,
    elements: Ints, marked: Ints, stamp: int,
) -> int:  # fmt: skip
    """Whether one value of an event satisfies predicate `p`, which is about its name."""
    op = predicates[p, OP]
    if op < ONE_OF:
        return compared(
            op, predicates[p, KIND], predicates[p, SYMBOL], constants[p, LOW], constants[p, HIGH],
            values[v, V_KIND], values[v, V_SYMBOL], numbers[v, LOW], numbers[v, HIGH],
        )  # fmt: skip
    if op >= IN_PYTHON:
        return UNDECIDED
    if values[v, V_KIND] != predicates[p, KIND]:
        return FALSE
    start, count = predicates[p, START], predicates[p, COUNT]
    if op == ONE_OF:
        return TRUE if holds(pool, start, count, values[v, V_SYMBOL]) else FALSE
    if op == MARKED:
        return TRUE if marked[predicates[p, SYMBOL]] == stamp else FALSE
    first = values[v, V_START]
    for i in range(first, first + values[v, V_COUNT]):
        if op == HAS_ELEMENT:
            inside = elements[i] == predicates[p, SYMBOL]
        else:
            inside = holds(pool, start, count, elements[i])
        if op == WITHIN and not inside:
            return FALSE
        if op != WITHIN and inside:
            return TRUE
    return TRUE if op == WITHIN else FALSE


@kernel
def truth(
    p: int, predicates: Ints, constants: Floats, pool: Ints, at: Ints, after: Ints, values: Ints,
    numbers: Floats, elements: Ints, marked: Ints, stamp: int,
) -> int:  # fmt: skip
    """Whether all values that an event has under the name of predicate `p`, at least one, satisfy it."""
    v = at[predicates[p, NAME]]
    if v == NONE:
        return UNDECIDED if predicates[p, OP] == ALWAYS_IN_PYTHON else FALSE
    verdict = TRUE
    while v != NONE and verdict != FALSE:
        verdict = min(
            verdict,
            truth_of_value(p, predicates, constants, pool, v, values, numbers, elements, marked, stamp),
        )
        v = after[v]
    return verdict


@kernel
def judge(
    group: int, programs: Ints, predicates: Ints, constants: Floats, pool: Ints, at: Ints, after: Ints,
    values: Ints, numbers: Floats, elements: Ints, marked: Ints, stamp: int,
) -> int:  # fmt: skip
    """Whether an event satisfies the program of a distinct subscription."""
    start, count = programs[group, P_START], programs[group, P_COUNT]
    if programs[group, P_PLAIN]:
        verdict = TRUE
        for i in range(start, start + count):
            verdict = min(verdict, truth(
                pool[i], predicates, constants, pool, at, after, values, numbers, elements, marked, stamp
            ))  # fmt: skip
            if verdict == FALSE:
                return FALSE
        return verdict
    stack = np.empty(count, np.int64)
    top = 0
    for i in range(start, start + count):
        token = pool[i]
        if token >= 0:
            stack[top] = truth(
                token, predicates, constants, pool, at, after, values, numbers, elements, marked, stamp
            )
            top += 1
            continue
        operands, join = (-token - 1) // 3, (-token - 1) % 3
        if join == NOT:
            stack[top - 1] = TRUE - stack[top - 1]
            continue
        top -= operands - 1
        verdict = stack[top - 1]
        for k in range(top, top + operands - 1):
            verdict = min(verdict, stack[k]) if join == AND else max(verdict, stack[k])
        stack[top - 1] = verdict
    return int(stack[0])


@kernel
def note_names(values: Ints, at: Ints) -> Ints:
    """Write into `at` where the first value of each name is; gives for each value the next of its name."""
    after = np.full(len(values), NONE, np.int64)
    for v in range(len(values) - 1, -1, -1):
        name = values[v, V_NAME]
        after[v] = at[name]
        at[name] = v
    return after


@kernel
def slots_under(wanted: Ints, keys: Ints, tried: Ints) -> Ints:
    """The records under some keys; `tried` counts by key how many that are."""
    total = 0
    for key in wanted:
        total += keys[key, K_COUNT]
    slots = np.empty(total, np.int64)
    n = 0
    for key in wanted:
        tried[key] += keys[key, K_COUNT]
        for slot in range(keys[key, K_START], keys[key, K_START] + keys[key, K_COUNT]):
            slots[n] = slot
            n += 1
    return slots


@kernel
def slots_of(rows: Ints, group_of: Ints, first: Ints, postings: Ints) -> Ints:
    """A record of each row's group; groups that are under no key have none."""
    slots = np.empty(len(rows), np.int64)
    n = 0
    for row in rows:
        posting = first[group_of[row]]
        if posting != NONE:
            slots[n] = postings[posting, SLOT]
            n += 1
    return slots[:n]


@kernel
def judge_slots(
    programs: Ints, predicates: Ints, constants: Floats, pool: Ints, at: Ints, values: Ints, numbers: Floats,
    elements: Ints, marks: Ints, marked: Ints, stamp: int, slots: Ints, records: Ints, seen: Ints,
    found: Ints,
) -> tuple[int, int]:  # fmt: skip
    """Judge the groups of some records, each once.

    Those that accept are found[:n], those undecided found[m:]; gives (n, m). Both are in no order. What is
    compared most often is written out here: to pass an array to another function takes longer than that.
    """
    after = note_names(values, at)
    for mark in marks:
        marked[mark] = stamp
    n, m = 0, len(found)
    for slot in slots:
        verdict = TRUE
        for i in range(TESTS, TESTS + INLINE):
            p = records[slot, i]
            if p == NONE:
                break
            v, op = at[predicates[p, NAME]], predicates[p, OP]
            if v == NONE:
                holding = UNDECIDED if op == ALWAYS_IN_PYTHON else FALSE
            elif op < ONE_OF and after[v] == NONE:
                holding = compared(
                    op, predicates[p, KIND], predicates[p, SYMBOL], constants[p, LOW], constants[p, HIGH],
                    values[v, V_KIND], values[v, V_SYMBOL], numbers[v, LOW], numbers[v, HIGH],
                )  # fmt: skip
            elif op == ONE_OF and after[v] == NONE:
                within = holds(pool, predicates[p, START], predicates[p, COUNT], values[v, V_SYMBOL])
                holding = TRUE if within else FALSE
            else:
                holding = truth(
                    p, predicates, constants, pool, at, after, values, numbers, elements, marked, stamp
                )
            verdict = min(verdict, holding)
            if verdict == FALSE:
                break
        if verdict == FALSE:
            continue
        group = records[slot, GROUP]
        if seen[group] == stamp:
            continue
        seen[group] = stamp
        if records[slot, REST]:
            verdict = judge(
                group,
                programs,
                predicates,
                constants,
                pool,
                at,
                after,
                values,
                numbers,
                elements,
                marked,
                stamp,
            )
        if verdict == TRUE:
            found[n] = group
            n += 1
        elif verdict == UNDECIDED:
            m -= 1
            found[m] = group
    for v in range(len(values)):
        at[values[v, V_NAME]] = NONE
    return n, m


@kernel
def rows_with(rows: Ints, group_of: Ints, marks: Ints, mark: int) -> Ints:
    """Those of the rows whose group has this mark."""
    kept = np.empty(len(rows), np.int64)
    n = 0
    for row in rows:
        if marks[group_of[row]] == mark:
            kept[n] = row
            n += 1
    return kept[:n]
