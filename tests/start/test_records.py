"""A record is a frozen dataclass in all that its users see."""

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from functools import cached_property

import pytest

from eventide.records import record


class Parts:
    """What both are made of."""

    first: int
    second: str = "b"
    listed: list = field(default_factory=list)
    hidden: object = field(default=None, compare=False, repr=False)
    made: int = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "made", self.first + 1)

    @cached_property
    def doubled(self):
        return 2 * self.first


def both(**options):
    parts = {name: part for name, part in vars(Parts).items() if name not in ("__dict__", "__weakref__")}
    return [
        way(type("Both", (), {**parts, "__qualname__": "Both"}))
        for way in (dataclass(frozen=True, **options), record(**options) if options else record)
    ]


@record
class Pair:
    """At the top of a module, so that it can be pickled."""

    left: object
    right: object = ()


@record
class Triple(Pair):
    """A record made of another one."""

    third: int = 3


@pytest.mark.parametrize("options", [{}, {"kw_only": True}])
def test_it_does_what_a_dataclass_does(options):
    expected, found = both(**options)
    for given in ({"first": 1}, {"first": 1, "second": "c", "listed": [1], "hidden": 4}):
        assert repr(found(**given)) == repr(expected(**given))
        assert vars(found(**given)) == vars(expected(**given))
        assert found(**given) == found(**{**given, "hidden": 5})
        assert found(**given) != expected(**given)
        assert replace(found(**given), first=7).made == 8
        assert found(**given).doubled == 2
    assert [item.name for item in fields(found)] == [item.name for item in fields(expected)]
    assert found.__match_args__ == expected.__match_args__
    assert is_dataclass(found)
    for wrong in ({}, {"first": 1, "other": 2}, {"made": 1, "first": 1}):
        with pytest.raises(TypeError) as by_dataclass:
            expected(**wrong)
        with pytest.raises(TypeError) as by_record:
            found(**wrong)
        assert str(by_record.value) == str(by_dataclass.value)


def test_factories_give_each_its_own():
    _, found = both()
    assert found(1).listed is not found(1).listed


def test_nobody_changes_it():
    pair = Pair(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'left'"):
        pair.left = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'left'"):
        del pair.left


def test_values_are_keys_and_can_be_sent():
    same = float("nan")
    assert Pair(same) == Pair(same)
    assert {Pair(1, (2,)): "found"}[Pair(1, (2,))] == "found"
    assert pickle.loads(pickle.dumps(Pair(1, 2))) == Pair(1, 2) == copy.deepcopy(Pair(1, 2))
    assert Triple(1) == Triple(1, (), 3) != Pair(1)
    assert repr(Triple(1)) == "Triple(left=1, right=(), third=3)"


def test_methods_of_the_class_stay():
    @record
    class Own:
        value: int

        def __eq__(self, other):
            return True

        def __hash__(self):
            return 5

        def __repr__(self):
            return "own"

    assert Own(1) == Own(2)
    assert (hash(Own(1)), repr(Own(1))) == (5, "own")
