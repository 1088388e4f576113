"""``kvdocs.startup.dataclass`` makes what the standard library's makes, only sooner."""

import dataclasses

import pytest

from kvdocs.startup import dataclass


def both(**options):
    """The same class by either."""
    classes = []
    for make in (dataclasses.dataclass, dataclass):

        @make(**options)
        class Point:
            """A point."""

            x: int
            y: str = "y"
            seen: list = dataclasses.field(default_factory=list, compare=False, repr=False)

            def __post_init__(self):
                if self.x < 0:
                    raise ValueError("x is negative")

        classes.append(Point)
    return classes


@pytest.mark.parametrize("options", [{}, {"frozen": True}, {"frozen": True, "kw_only": True}])
def test_equality_hash_text_and_copies_are_those_of_the_standard_library(options):
    theirs, ours = both(**options)
    for make in (theirs, ours):
        one, same, other = make(x=1), make(x=1, seen=[2]), make(x=2)
        assert one == same != other
        assert one != (1, "y", [])
        assert dataclasses.replace(one, y="z").y == "z"
        with pytest.raises(ValueError, match="negative"):
            make(x=-1)
    assert repr(theirs(x=1)) == repr(ours(x=1))
    assert [one.name for one in dataclasses.fields(ours)] == ["x", "y", "seen"]
    if options.get("frozen"):
        assert hash(theirs(x=1)) == hash(ours(x=1))
    else:
        assert theirs.__hash__ is ours.__hash__ is None


def test_a_field_of_a_frozen_one_is_set_once():
    for make in both(frozen=True):
        point = make(x=1)
        for change in (
            lambda one: setattr(one, "x", 2),
            lambda one: setattr(one, "new", 2),
            lambda one: delattr(one, "x"),
        ):
            with pytest.raises(dataclasses.FrozenInstanceError):
                change(point)


def test_a_class_keeps_the_methods_that_it_has_itself():
    @dataclass(frozen=True)
    class Named:
        """Has a text of its own."""

        name: str

        def __repr__(self):
            return self.name

    assert repr(Named("a")) == "a"
    assert Named("a") == Named("a")


def test_a_class_below_another_compares_all_fields():
    @dataclass(frozen=True)
    class One:
        """One field."""

        x: int

    @dataclass(frozen=True)
    class Two(One):
        """And another."""

        y: int

    assert Two(1, 2) == Two(1, 2) != Two(1, 3)
    assert One(1) != Two(1, 2)
    assert {Two(1, 2), Two(1, 2)} == {Two(1, 2)}
