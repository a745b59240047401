"""Follows one value through the code and counts its way: a measure of how tangled the code is.

    python -m tools.trace_value rag_evaluator.sort:evaluate:judge [--root FOLDER] [--list]

It reads the source only (`ast`) and runs nothing. It starts at a parameter, `module:function:name`, and goes through
the code in the order in which it is written, all branches one after the other. A call that hands the value on leads
into the module of what is called, which is read in full the first time; a later call is one more visit.

    modules     that the value enters
    returns     visits to a module that it had left
    functions   that it enters

As the value count itself, changed copies (`model_copy`, `replace`), conversions (`str`, `Path`, `list`), elements, and
attributes, such as `config.judge`; not what is found out about it: comparisons, lengths, f-strings, texts that
functions return, truth values and numbers. Objects that keep it in an attribute are followed where they are handed on
or have a method called; functions that are given such an object and never come to the value are not counted.

The class of an object is that of the call that made it, else by annotations; for a Protocol the classes count that have
its methods, those that keep the value if there are any. Not followed are callbacks in a local name, properties, and
what goes through libraries or `**`: the numbers are for comparing trees.
"""

import argparse
import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from tools.definitions import Function, Package, Place, parameters

KEEPS, IS = 1, 2  # whether a thing keeps the value or is the value
SAME = {"str", "Path", "list", "tuple", "set", "dict", "sorted", "next", "iter", "zip", "enumerate", "getattr", "cast"}
SAME |= {"replace", "copy", "deepcopy", "model_copy", "get", "items", "values", "keys", "expanduser"}
COLUMNS = ("modules", "returns", "functions")


@dataclass(frozen=True)
class Thing:
    """What is known of an expression: how it has the value, its class, what of the package it is a name of."""

    level: int = 0
    kind: Place | None = None
    names: tuple[Place, ...] = ()

    def __or__(self, other: "Thing") -> "Thing":
        return Thing(max(self.level, other.level), self.kind or other.kind, self.names or other.names)


@dataclass
class Frame:
    """A function as it is read: its names, and what it returns."""

    place: Place
    names: dict[str, Thing]
    result: Thing = field(default_factory=Thing)


class Walk:
    """The way of one value from its start."""

    def __init__(self, package: Package, start: Place, name: str) -> None:
        self.package = package
        self.route: list[Place] = []
        self.kept: dict[tuple[Place, str], Thing] = {}
        self.results: dict[Place, Thing] = {}
        self.idle: set[Place] = set()
        self.met = False
        self._enter(start, {name: Thing(IS)})

    def counts(self) -> dict[str, int]:
        stays = [module for module, _ in groupby(place.module for place in self.route)]
        modules = len(set(stays))
        return dict(zip(COLUMNS, (modules, len(stays) - modules, len(set(self.route))), strict=True))

    def _enter(self, place: Place, given: dict[str, Thing]) -> Thing:
        """Go into a function with the value in some of its parameters; what it returns."""
        if place not in self.idle:
            self.route.append(place)
        if place not in self.results:
            function = self.package.functions[place]
            met_before, before = self.met, len(self.route)
            self.met = any(thing.level == IS for thing in given.values())
            self.results[place] = Thing(kind=self.package.annotated(place.module, function.returns))
            frame = self._frame(function, place, given)
            self._read(function.body, frame)
            if not is_plain(function.returns, "str"):
                self.results[place] |= frame.result
            if not self.met and len(self.route) == before:
                self.idle.add(self.route.pop())
            self.met |= met_before
        return self.results[place]

    def _frame(self, function: Function, place: Place, given: dict[str, Thing]) -> Frame:
        frame = Frame(place, {})
        for argument in parameters(function):
            thing = Thing() if is_plain(argument.annotation) else given.get(argument.arg, Thing())
            kind = self.package.annotated(place.module, argument.annotation)
            frame.names[argument.arg] = thing | Thing(kind=kind)
        return frame

    def _read(self, nodes: Iterable[ast.AST], frame: Frame) -> None:
        """Statements, or parts of them."""
        for node in nodes:
            match node:
                case ast.expr():
                    self._see(node, frame)
                case ast.Assign():
                    for target in node.targets:
                        self._assign(target, node.value, frame)
                case ast.AnnAssign(value=ast.expr()):
                    kind = self.package.annotated(frame.place.module, node.annotation)
                    self._bind(node.target, self._see(node.value, frame) | Thing(kind=kind), frame)
                case ast.Return():
                    frame.result |= self._see(node.value, frame)
                case ast.For() | ast.AsyncFor():
                    self._bind(node.target, self._see(node.iter, frame), frame)
                    self._read([*node.body, *node.orelse], frame)
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    names = frame.names | self._frame(node, frame.place, {}).names
                    self._read(node.body, Frame(frame.place, names))
                case _:
                    self._read(ast.iter_child_nodes(node), frame)

    def _assign(self, target: ast.expr, value: ast.expr, frame: Frame) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one_target, one_value in zip(target.elts, value.elts, strict=True):
                self._assign(one_target, one_value, frame)
        else:
            self._bind(target, self._see(value, frame), frame)

    def _bind(self, target: ast.expr, thing: Thing, frame: Frame) -> None:
        """Branches are read one after the other: what a name was in one of them it may still be."""
        match target:
            case ast.Name(id=name):
                frame.names[name] = thing | frame.names.get(name, Thing())
            case ast.Attribute(value=owner, attr=name) if kind := self._see(owner, frame).kind:
                self.kept[kind, name] = thing | self.kept.get((kind, name), Thing())
            case ast.Tuple(elts=elements):
                for element in elements:
                    self._bind(element, thing, frame)
            case ast.Subscript(value=inner):
                self._bind(inner, thing, frame)

    def _see(self, node: ast.expr | None, frame: Frame) -> Thing:
        """What an expression is; calls in it are gone into."""
        thing = self._thing(node, frame)
        self.met |= thing.level == IS
        return thing

    def _thing(self, node: ast.expr | None, frame: Frame) -> Thing:
        match node:
            case ast.Name(id=name):
                found = self.package.find(frame.place.module, name)
                return frame.names.get(name) or Thing(names=(found,) if found else ())
            case ast.Attribute():
                return self._attribute(node, frame)
            case ast.Call():
                return self._call(node, frame)
            case ast.Await() | ast.Starred() | ast.Subscript():
                return self._see(node.value, frame)
            case ast.NamedExpr():
                thing = self._see(node.value, frame)
                self._bind(node.target, thing, frame)
                return thing
            case ast.IfExp():
                self._see(node.test, frame)
                return self._any([node.body, node.orelse], frame)
            case ast.BoolOp(values=values) | ast.Tuple(elts=values) | ast.List(elts=values) | ast.Dict(values=values):
                return self._any(values, frame)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                inner = replace(frame, names=dict(frame.names))
                for part in node.generators:
                    self._bind(part.target, self._see(part.iter, inner), inner)
                    self._read(part.ifs, inner)
                return self._see(node.value if isinstance(node, ast.DictComp) else node.elt, inner)
        self._read(ast.iter_child_nodes(node) if node else (), frame)
        return Thing()

    def _any(self, nodes: Iterable[ast.expr], frame: Frame) -> Thing:
        thing = Thing()
        for node in nodes:
            thing |= self._see(node, frame)
        return thing

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Thing:
        module = self.package.imports[frame.place.module].get(ast.unparse(node.value))
        if module and ".".join(module) in self.package.imports:
            found = self.package.find(".".join(module), node.attr)
            return Thing(names=(found,) if found else ())
        owner = self._see(node.value, frame)
        if methods := self._methods(owner, node.attr):
            return replace(owner, names=methods)
        if node.attr in SAME:
            return owner
        part = Thing(IS * (owner.level == IS))
        if owner.kind:
            annotation = self.package.attribute(owner.kind, node.attr)
            kept = self.kept.get((owner.kind, node.attr), Thing())
            part |= kept | Thing(kind=self.package.annotated(owner.kind.module, annotation))
            part = Thing() if is_plain(annotation) else part
        return part

    def _methods(self, owner: Thing, name: str) -> tuple[Place, ...]:
        """The methods of that name that an object, or a class by its name, may have."""
        owners = [place for place in (owner.kind, *owner.names) if place in self.package.classes]
        if owners and self.package.is_protocol(owners[0]):
            able = self.package.implementations(owners[0])
            owners = [place for place in able if self._keeps(place)] or able
        return tuple(found for place in owners if (found := self.package.method(place, name)))

    def _keeps(self, owner: Place) -> bool:
        return any(thing.level for (other, _), thing in self.kept.items() if other == owner)

    def _call(self, node: ast.Call, frame: Frame) -> Thing:
        callee = self._see(node.func, frame)
        given: dict[int | str, Thing] = {i: self._see(value, frame) for i, value in enumerate(node.args)}
        given |= {word.arg or "": self._see(word.value, frame) for word in node.keywords}
        is_method = isinstance(node.func, ast.Attribute)
        result = replace(callee, names=())
        if callee.names and (is_method or not callee.level):
            return self._call_each(callee.names, result, given)
        for thing in given.values():
            result |= replace(thing, names=())
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        return result if name in SAME else Thing()

    def _call_each(self, targets: tuple[Place, ...], receiver: Thing, given: dict[int | str, Thing]) -> Thing:
        result = Thing()
        for target in targets:
            init = self.package.method(target, "__init__") if target in self.package.classes else None
            if init:
                self._bound(init, Thing(kind=target), given)
            elif target in self.package.classes:
                fields = [*self.package.fields(target)]
                named = dict(zip([*range(len(fields)), *fields], fields * 2, strict=True))
                self.kept |= {(target, named[key]): thing for key, thing in given.items() if key in named}
            else:
                result |= self._bound(target, receiver, given)
                continue
            keeps = any(thing.level for thing in given.values()) and self._keeps(target)
            result |= Thing(KEEPS * keeps, target)
        return result

    def _bound(self, target: Place, receiver: Thing, given: dict[int | str, Thing]) -> Thing:
        """Go into a function, if it is given the value, with arguments by the names of its parameters."""
        function = self.package.functions[target]
        if not receiver.level and not any(thing.level for thing in given.values()):
            return Thing(kind=self.package.annotated(target.module, function.returns))
        names = [argument.arg for argument in parameters(function)]
        bound: dict[str, Thing] = {}
        if names[:1] == ["self"]:
            bound["self"] = replace(receiver, level=receiver.level or KEEPS)
        elif names[:1] == ["cls"]:
            bound["cls"] = Thing(names=(Place(target.module, target.name.partition(".")[0]),))
        free = names[len(bound) :]
        for key, thing in given.items():
            name = key if isinstance(key, str) else "".join(free[key : key + 1] or free[-1:])
            bound[name] = thing | bound.get(name, Thing())
        return self._enter(target, bound)


def is_plain(annotation: ast.expr | None, *others: str) -> bool:
    """Whether an annotation says that something is a truth value or a number, which is never the value."""
    return annotation is not None and ast.unparse(annotation) in ("bool", "int", "float", *others)


def trace(package: Package, start: str) -> Walk:
    """Follow `module:function:name`. Raises `SystemExit` if there is no such parameter."""
    module, function, name = start.split(":")
    found = package.functions.get(Place(module, function))
    if found is None or name not in (argument.arg for argument in parameters(found)):
        raise SystemExit(f"{start}: no function {function} with a parameter {name} in {module}")
    return Walk(package, Place(module, function), name)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("start", nargs="+", help="module:function:name, the name of a parameter")
    parser.add_argument("--root", type=Path, default=Path(), help="folder of the tree; default: this one")
    parser.add_argument("--list", action="store_true", help="name the functions in the order of the way")
    options = parser.parse_args()
    print(f"{'':50}" + "".join(f"{column:>10}" for column in COLUMNS))
    for start in options.start:
        walk = trace(Package.read(options.root, start.partition(".")[0]), start)
        print(f"{start:50}" + "".join(f"{count:>10}" for count in walk.counts().values()))
        for module, places in groupby(walk.route, lambda place: place.module) if options.list else ():
            print(f"    {module}: {', '.join(place.name for place in places)}")


if __name__ == "__main__":
    main()
