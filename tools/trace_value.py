"""Follows one value through the code and counts what it passes: a measure of how tangled the code is.

    python -m tools.trace_value rag_evaluator.api.functions:evaluate:judge [--root FOLDER] [--list]

It reads the source only (`ast`) and runs nothing. The value is a parameter or a local name of a function,
`module:function:name`. It is followed until nothing new is reached:

- into the parameter of a function or method of the package that it is passed to, positionally or by keyword;
- into a local name that it is assigned to;
- into an attribute: `self.x = value`, or a field of a dataclass or NamedTuple; and out of it wherever that attribute of
  that class is read;
- out of a function that returns it;
- through `await`, `or`, `if else`, tuples, lists, dicts, comprehensions, and changed copies (`replace`, `model_copy`);
- if its class is in the package, into its attributes that are objects of the package, such as `config.judge`; texts and
  numbers read from it are other values.

The line "and what holds it" follows, besides, every object that keeps the value in an attribute, its bound methods, and
lambdas that use it: whoever is passed such an object could use the value.

The class of an object is found by annotations, constructors and assignments. For a Protocol all classes that have its
methods count; for an object of unknown class the one class with a method of that name, if there is one and builtin
types have none. What goes through libraries or `**` is lost. The numbers are for comparing trees, not exact counts.

    modules     with a function that receives, makes or reads it
    functions   that do so
    passed      calls that hand it to a function of the package
    stored      attributes that it is kept in
    returns     `return` statements with a value in these functions, whatever they return
    back        those of them that return it
"""

import argparse
import ast
from pathlib import Path

from tools.definitions import Function, Package, Place, assignments, is_property, own_returns

COPIES = {"replace", "model_copy", "copy", "deepcopy"}
COLUMNS = ("modules", "functions", "passed", "stored", "returns", "back")
BUILTIN = {name for kind in (dict, list, set, str, bytes, int, Path) for name in dir(kind)}


class Trace:
    """Where one value goes; with `holders` also where the objects go that hold it."""

    def __init__(self, package: Package, start: Place, name: str, holders: bool = False) -> None:
        self.package, self.holders = package, holders
        self.read: set[Place] = set()
        self.names: set[tuple[Place, str]] = {(start, name)}
        self.stored: set[tuple[Place, str]] = set()
        self.returned: set[Place] = set()
        self.passed: set[tuple[Place, int, int]] = set()
        self.back: set[tuple[Place, int]] = set()
        self._types: dict[tuple[Place, str], Place | None] = {}
        self.parts = self._parts(self.type_of(ast.Name(name), start))
        before = -1
        while before != (before := len(self.names) + len(self.stored) + len(self.returned)):
            for place, function in package.functions.items():
                self._follow(place, function)

    @property
    def functions(self) -> set[Place]:
        return {place for place, _ in self.names} | self.returned | {place for place, *_ in self.passed} | self.read

    @property
    def modules(self) -> set[str]:
        return {place.module for place in self.functions} | {owner.module for owner, _ in self.stored}

    @property
    def returns(self) -> set[ast.AST]:
        return {node for place in self.functions for node in own_returns(self.package.functions[place])}

    def counts(self) -> dict[str, int]:
        return {column: len(getattr(self, column)) for column in COLUMNS}

    def _parts(self, start: Place | None) -> set[Place]:
        """The class of the value and those of its attributes."""
        parts: set[Place] = set()
        left = [start] if start else []
        while left:
            owner = left.pop()
            if owner not in parts:
                parts.add(owner)
                types = (self.package.annotated(owner.module, kind) for kind in self.package.fields(owner).values())
                left += [found for found in types if found]
        return parts

    def _follow(self, place: Place, function: Function) -> None:
        own = own_returns(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                self._call(place, node)
            elif node in own and self.carries(own[node], place):
                self.returned.add(place)
                self.back.add((place, own[node].lineno))
            elif isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    self._assign(place, target, node.value)
            elif isinstance(node, ast.withitem) and node.optional_vars and self.carries(node.context_expr, place):
                self._assign(place, node.optional_vars, node.context_expr)

    def _assign(self, place: Place, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one_target, one_value in zip(target.elts, value.elts, strict=True):
                self._assign(place, one_target, one_value)
        elif self.carries(value, place):
            if isinstance(target, ast.Name):
                self.names.add((place, target.id))
            elif isinstance(target, ast.Attribute) and (owner := self.type_of(target.value, place)):
                self.stored.add((owner, target.attr))

    def _call(self, place: Place, call: ast.Call) -> None:
        """Take the value into what is called: into parameters, or the fields of a class without `__init__`."""
        carrying = [(i, arg) for i, arg in enumerate(call.args) if self.carries(arg, place)]
        named = {word.arg for word in call.keywords if word.arg and self.carries(word.value, place)}
        receiver = isinstance(call.func, ast.Attribute) and self.carries(call.func.value, place)
        if not (carrying or named or receiver):
            return
        for target in self.targets(call.func, place):
            self.passed.add((place, call.lineno, call.col_offset))
            if target in self.package.classes:
                init = self.package.method(target, "__init__")
                if init is None:
                    fields = list(self.package.fields(target))
                    self.stored |= {(target, fields[i]) for i, _ in carrying if i < len(fields)}
                    self.stored |= {(target, name) for name in named if name in fields}
                    continue
                target = init
            arguments = self.package.functions[target].args
            names = [a.arg for a in [*arguments.posonlyargs, *arguments.args]]
            shift = int("." in target.name and names[:1] in (["self"], ["cls"]))
            self.names |= {(target, names[i + shift]) for i, _ in carrying if i + shift < len(names)}
            if arguments.vararg and any(i + shift >= len(names) for i, _ in carrying):
                self.names.add((target, arguments.vararg.arg))
            self.names |= {(target, name) for name in named & {*names, *(a.arg for a in arguments.kwonlyargs)}}
            if receiver and shift and self._owner(target) in self.parts:
                self.names.add((target, names[0]))

    def targets(self, callee: ast.expr, place: Place) -> list[Place]:
        """What of the package a call may run."""
        package = self.package
        if isinstance(callee, ast.Name):
            found = package.find(place.module, callee.id)
            return [found] if found else []
        if not isinstance(callee, ast.Attribute):
            return []
        if isinstance(callee.value, ast.Name) and (target := package.imports[place.module].get(callee.value.id)):
            module = f"{target.module}.{target.name}"
            if module in package.imports:
                found = package.find(module, callee.attr)
                return [found] if found else []
        owner = self.type_of(callee.value, place) or self._class_named(callee.value, place)
        if owner is None:
            owners = [other for other in package.classes if callee.attr in package.methods(other)]
            clear = len(owners) == 1 and callee.attr not in BUILTIN
            return [Place(owners[0].module, f"{owners[0].name}.{callee.attr}")] if clear else []
        owners = [owner]
        if package.is_protocol(owner):
            wanted = package.methods(owner)
            owners = [o for o in package.classes if wanted <= package.methods(o) and not package.is_protocol(o)]
        return [found for other in owners if (found := package.method(other, callee.attr))]

    def _class_named(self, node: ast.expr, place: Place) -> Place | None:
        found = self.package.find(place.module, node.id) if isinstance(node, ast.Name) else None
        return found if found in self.package.classes else None

    def carries(self, node: ast.expr | None, place: Place) -> bool:
        """Whether an expression is the value, or an object that holds it."""
        if isinstance(node, ast.Name):
            holds = self.holders and node.id == "self" and self._owner(place) in {owner for owner, _ in self.stored}
            return holds or (place, node.id) in self.names
        if isinstance(node, ast.Attribute):
            return self._carries_attribute(node, place)
        if isinstance(node, ast.Call):
            targets = self.targets(node.func, place)
            values = [*node.args, *(word.value for word in node.keywords)]
            if any(target in self.package.classes for target in targets):
                return self.holders and any(self.carries(value, place) for value in values)
            if targets:
                return any(target in self.returned for target in targets)
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in COPIES:
                copied = [node.func.value] if isinstance(node.func, ast.Attribute) else node.args[:1]
                return any(self.carries(value, place) for value in copied)
            return self.carries(node.func, place)
        if isinstance(node, ast.Await | ast.Starred | ast.NamedExpr | ast.Subscript | ast.DictComp):
            return self.carries(node.value, place)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return self.carries(node.elt, place)
        if isinstance(node, ast.IfExp):
            return self.carries(node.body, place) or self.carries(node.orelse, place)
        if isinstance(node, ast.BoolOp | ast.Dict):
            return any(self.carries(value, place) for value in node.values)
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return any(self.carries(value, place) for value in node.elts)
        return (
            isinstance(node, ast.Lambda)
            and self.holders
            and any(
                self.carries(part, place) for part in ast.walk(node.body) if isinstance(part, ast.Name | ast.Attribute)
            )
        )

    def _carries_attribute(self, node: ast.Attribute, place: Place) -> bool:
        owner = self.type_of(node.value, place)
        if owner is None:  # of an object that is known to hold the value, any attribute of that name
            is_stored = node.attr in {attribute for _, attribute in self.stored} and self.carries(node.value, place)
        else:
            is_stored = (owner, node.attr) in self.stored
        if is_stored:
            self.read.add(place)
        if is_stored or owner is None or not self.carries(node.value, place):
            return is_stored
        if method := self.package.method(owner, node.attr):
            is_property_of_value = is_property(self.package.functions[method])
            return method in self.returned if is_property_of_value else self.holders
        return owner in self.parts and self.type_of(node, place) in self.parts

    def _owner(self, place: Place) -> Place | None:
        owner = Place(place.module, place.name.partition(".")[0])
        return owner if owner in self.package.classes else None

    def type_of(self, node: ast.expr | None, place: Place) -> Place | None:
        """The class of the package that an expression is an object of; None if it is not known."""
        if isinstance(node, ast.Name):
            if node.id in ("self", "cls") and "." in place.name:
                return self._owner(place)
            return self._remember((place, node.id))
        if isinstance(node, ast.Attribute):
            owner = self.type_of(node.value, place)
            return self._remember((owner, node.attr)) if owner else None
        if isinstance(node, ast.Call):
            for target in self.targets(node.func, place):
                if target in self.package.classes:
                    return target
                function = self.package.functions[target]
                return self.package.annotated(target.module, function.returns)
            if isinstance(node.func, ast.Attribute) and node.func.attr == "model_copy":
                return self.type_of(node.func.value, place)
            return self.type_of(node.func, place)
        if isinstance(node, ast.Await):
            return self.type_of(node.value, place)
        if isinstance(node, ast.IfExp | ast.BoolOp):
            values = [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values
            return next((found for value in values if (found := self.type_of(value, place))), None)
        return None

    def _remember(self, key: tuple[Place, str]) -> Place | None:
        if key not in self._types:
            self._types[key] = None  # ends the search where a name is defined by itself
            find = self._type_of_attribute if key[0] in self.package.classes else self._type_of_name
            self._types[key] = find(*key)
        return self._types[key]

    def _type_of_name(self, place: Place, name: str) -> Place | None:
        function = self.package.functions[place]
        arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        for argument in arguments:
            if argument.arg == name and (found := self.package.annotated(place.module, argument.annotation)):
                return found
        values = [value for target, value in assignments(function) if ast.unparse(target) == name]
        return next((found for value in values if (found := self.type_of(value, place))), None)

    def _type_of_attribute(self, owner: Place, name: str) -> Place | None:
        fields = self.package.fields(owner)
        if name in fields:
            return self.package.annotated(owner.module, fields[name])
        if found := self.package.method(owner, name):
            return self.package.annotated(found.module, self.package.functions[found].returns)
        for method in self.package.methods(owner):
            place = Place(owner.module, f"{owner.name}.{method}")
            for target, value in assignments(self.package.functions[place]):
                if ast.unparse(target) == f"self.{name}" and (found := self.type_of(value, place)):
                    return found
        return None


def trace(root: Path, start: str, holders: bool = False) -> Trace:
    """Follow `module:function:name` in the tree at `root`. Raises `SystemExit` if there is no such function."""
    module, function, name = start.split(":")
    package = Package.read(root, module.partition(".")[0])
    place = Place(module, function)
    if place not in package.functions:
        raise SystemExit(f"{start}: no function {function} in {module}")
    return Trace(package, place, name, holders)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("start", nargs="+", help="module:function:name, the name of a parameter or local")
    parser.add_argument("--root", type=Path, default=Path(), help="folder of the tree; default: this one")
    parser.add_argument("--list", action="store_true", help="name the functions that the value passes")
    options = parser.parse_args()
    print(f"{'':50}" + "".join(f"{column:>10}" for column in COLUMNS))
    for start in options.start:
        for holders in (False, True):
            followed = trace(options.root, start, holders)
            name = "  and what holds it" if holders else start
            print(f"{name:50}" + "".join(f"{count:>10}" for count in followed.counts().values()))
            for place in sorted(followed.functions) if options.list else ():
                print(f"    {place.module}: {place.name}")


if __name__ == "__main__":
    main()
