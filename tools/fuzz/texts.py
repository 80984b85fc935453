"""Seeds of all languages, and what is done to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

CEQL = (
    "SELECT a.price AS low , COUNT( b ) AS n WHERE A AS a ; B + AS b ; C AS c FILTER a.price < b.price WITHIN 5 seconds",
    "SELECT * WHERE NOT A AS n ; B AS b ; NOT C AS m FILTER n.price < b.price AND m.volume = b.volume WITHIN 5 seconds",
    ("SELECT NEXT * WHERE A AS a ~> B ~+ AS b ~> C AS c FILTER b.price <= NEXT( b.price ) AND AVG( b.price ) > 1 "
    "PARTITION BY company WITHIN 8 events CONSUME BY ANY LIMIT 3"),
    "SELECT COUNT( * ) AS n , SUM( b.volume ) AS s WHERE ( A AS a AND B + AS b ) ; C ? WITHIN 5 seconds LIMIT 4",
    "SELECT MAX * WHERE A + AS a ; B AS b FILTER b.price > 10 * MAX( a.price ) PARTITION BY company WITHIN 1 hour",
    "SELECT * WHERE ( ( A {1,5} ) {1,5} ) {0,3} AS a ; B {2} AS b WITHIN 30 seconds , 2 seconds BETWEEN STEPS",
    "SELECT * WHERE A AS a AND B AS b AND C AS c AND A AS d AND B AS e WITHIN 9 events",
    "SELECT COUNT( * ) AS n , MAX( b.price ) AS m WHERE A ; B + AS b ; C FILTER b.price < NEXT( b.price ) GROUP BY PARTITION",
    "SELECT * WHERE A ; B + AS b ; C WITHIN 20 seconds ORDER BY SUM( b.volume ) DESC LIMIT 5",
    "SELECT b.price AS p WHERE A + AS a ; B AS b FILTER SUM( a.volume ) < 7 SAMPLE 3 SEED 7",
)
SASE = (
    ("PATTERN SEQ( A a , ! B b , C + c[] ) WHERE skip_till_next_match { [ company ] AND a.price < c.price } WITHIN 10 seconds "
    "RETURN a.price"),
    ("PATTERN SEQ( A + a[] , B b ) WHERE skip_till_any_match { b.price > SUM( a.price ) AND a.volume < 3 } WITHIN 1 hour "
    "RETURN COUNT( a ) AS n"),
    "PATTERN SEQ( AND( A a , B b ) , OR( C c , A d ) ) WHERE strict_contiguity { a.price = b.price } WITHIN 9 events",
)
SQL = (
    ("SELECT * FROM t MATCH_RECOGNIZE ( PARTITION BY company ORDER BY ts MEASURES A.price AS low , LAST( B.price ) AS high "
    "PATTERN ( A B + C ? ) DEFINE B AS B.price > PREV( B.price ) , C AS C.price < A.price ) WHERE low > 1"),
    ("SELECT company , COUNT( * ) AS n FROM t MATCH_RECOGNIZE ( PARTITION BY company ORDER BY ts MEASURES MATCH_NUMBER( ) AS m "
    "ALL ROWS PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN ( ( A | B ) {1,3} C ) DEFINE A AS A.volume < 2 , "
    "B AS SUM( B.price ) < 9 ) GROUP BY company"),
    ("SELECT * FROM t MATCH_RECOGNIZE ( ORDER BY ts MEASURES COUNT( * ) AS n PATTERN ( ( ( A + B ? ) + ( C | A ) * ) + D ) "
    "DEFINE A AS A.price < 5 AND SUM( A.price ) < 80 , B AS SUM( B.price ) < SUM( A.price ) , D AS D.price > SUM( C.price ) )"),
    "SELECT * FROM t MATCH_RECOGNIZE ( ORDER BY ts PATTERN ( PERMUTE( A , B , C ) ) DEFINE A AS A.flag , C AS C.day > A.day )",
)
TEXTS = {"ceql": CEQL, "sase": SASE, "sql": SQL}
COLUMNS = ("ts", "kind", "price", "volume", "company", "flag", "day", "nothing")
KINDS = (
    (";", ":", "~>", "AND", "OR"),
    ("+", "~+", ":+", "*", "?", "{2}", "{0,2}", "{1,50}", "{3,}", "{1,5}", "{0,3}"),
    ("<", ">", "=", "<=", "<>", "<=>", "+", "-", "*", "/", "%", "||", "AND", "OR", "LIKE", "IS NOT"),
    ("NEXT(", "PREV(", "FIRST(", "LAST(", "SUM(", "COUNT(", "AVG(", "MIN(", "MAX(", "abs(", "length(", "nosuch(", "("),
    ("0", "1", "2", "3", "5", "7", "9", "10", "-1", "2.5", "1e400", "9223372036854775807", "'x'", "NULL", "TRUE"),
    ("seconds", "events", "minutes", "hour", "[ volume ]", ""),
    ("NEXT", "LAST", "MAX", "ANY", "STRICT", "*"),
    tuple(f"{variable}.{column}" for variable in "abcnm" for column in COLUMNS),
    tuple(f"{variable}.{column}" for variable in "ABCD" for column in COLUMNS),
    COLUMNS,
    ("A", "B", "C", "D", "E"),
    ("a", "b", "c", "d"),
)
EVENT_TYPES = ("A", "B", "C", "D", "E")
WILD = ("(", ")", "NOT", "FILTER", "WHERE", "AS", ",", "CASE", "CAST(", "@", "`", "--", ".", "[", "}", "LIMIT", "WITHIN", ";")
WILD += ("\x00", "é")


def mutated(random: Random) -> tuple[str, str]:
    """Return a language and a text: a seed with one to five words changed, or a part of it repeated."""
    language = random.choices(("ceql", "sase", "sql"), (6, 2, 3))[0]
    words = random.choice(TEXTS[language]).split()
    for _ in range(random.choice((1, 1, 2, 2, 3, 5))):
        _change(random, words, language)
    return language, " ".join(words)


def _change(random: Random, words: list[str], language: str) -> None:
    place = random.randrange(len(words))
    alike = [kind for kind in KINDS if words[place] in kind]
    types = [number for number, word in enumerate(words) if word in EVENT_TYPES]
    match random.randrange(24):
        case 0:
            words[place] = random.choice(WILD)
        case 1 if len(words) > 1:
            del words[place]
        case 2:
            other = random.choice(TEXTS[language]).split()
            begin = random.randrange(len(other))
            words[place:place] = other[begin : begin + random.randint(1, 6)]
        case 3:
            end = place + random.randint(1, 4)
            words[place:end] *= random.randint(2, 20)
        case 4:
            words[place] = random.choice(random.choice(KINDS))
        case 5 | 6 | 7 | 8 if types:
            # A part of the pattern repeated, alone or with its neighbour.
            place = random.choice(types)
            words[place] = random.choice(("( {0} ) {1}", "( {0} {2} A ) {1}", "( ( {0} ) {1} ) {3}", "{0} {2} {0}")).format(
                words[place], random.choice(KINDS[1]), random.choice(KINDS[0]), random.choice(KINDS[1])
            )
            words[:] = " ".join(words).split()
        case _ if alike:
            words[place] = random.choice(random.choice(alike))
        case _:
            changeable = [number for number, word in enumerate(words) if any(word in kind for kind in KINDS)]
            place = random.choice(changeable or [0])
            words[place] = random.choice([kind for kind in KINDS if words[place] in kind] or [WILD])[0]
