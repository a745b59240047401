"""The functions and classes that a package defines, found in its source, and what its names mean."""

import ast
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Place(NamedTuple):
    """A function or class by its module and its name in there (`Class.method`)."""

    module: str
    name: str


@dataclass
class Package:
    """The definitions of a package, and what each module imports."""

    functions: dict[Place, Function] = field(default_factory=dict)
    classes: dict[Place, ast.ClassDef] = field(default_factory=dict)
    imports: dict[str, dict[str, Place]] = field(default_factory=dict)

    @classmethod
    def read(cls, root: Path, name: str) -> "Package":
        package = cls()
        for path in sorted((root / name).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            package._add(module, ast.parse(path.read_text(encoding="utf-8")))
        return package

    def _add(self, module: str, tree: ast.Module) -> None:
        imports = self.imports.setdefault(module, {})
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imports |= {alias.asname or alias.name: Place(node.module, alias.name) for alias in node.names}
        for node in tree.body:
            if isinstance(node, Function):
                self.functions[Place(module, node.name)] = node
            elif isinstance(node, ast.ClassDef):
                self.classes[Place(module, node.name)] = node
                for method in node.body:
                    if isinstance(method, Function):
                        self.functions[Place(module, f"{node.name}.{method.name}")] = method

    def find(self, module: str, name: str, depth: int = 5) -> Place | None:
        """The function or class of the package that a name means in a module, through imports."""
        place = Place(module, name)
        if place in self.functions or place in self.classes:
            return place
        target = self.imports.get(module, {}).get(name)
        return self.find(*target, depth - 1) if target and target.module in self.imports and depth else None

    def annotated(self, module: str, annotation: ast.expr | None) -> Place | None:
        """The first class of the package that an annotation names; of a `Callable` what it returns."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = ast.parse(annotation.value, mode="eval").body
        for node in ast.walk(annotation) if annotation else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                return self.annotated(module, node)
            found = self.find(module, node.id) if isinstance(node, ast.Name) else None
            if found in self.classes:
                return found
        return None

    def method(self, owner: Place, name: str) -> Place | None:
        """A method of a class or of its bases that is no property."""
        found = self._defined(owner, name)
        decorators = self.functions[found].decorator_list if found else []
        return None if any("property" in ast.unparse(decorator) for decorator in decorators) else found

    def _defined(self, owner: Place, name: str) -> Place | None:
        place = Place(owner.module, f"{owner.name}.{name}")
        if place in self.functions:
            return place
        bases = (self.annotated(owner.module, base) for base in self.classes[owner].bases)
        return next((found for base in bases if base and base != owner and (found := self._defined(base, name))), None)

    def methods(self, owner: Place) -> set[str]:
        return {node.name for node in self.classes[owner].body if isinstance(node, Function)}

    def is_protocol(self, owner: Place) -> bool:
        return any("Protocol" in ast.unparse(base) for base in self.classes[owner].bases)

    def implementations(self, protocol: Place) -> list[Place]:
        """The classes that have all methods of a protocol."""
        wanted = self.methods(protocol)
        return [owner for owner in self.classes if wanted <= self.methods(owner) and not self.is_protocol(owner)]

    def attribute(self, owner: Place, name: str) -> ast.expr | None:
        """The annotation of an attribute: of a field, a property, or the parameter that `__init__` puts there."""
        if name in self.fields(owner):
            return self.fields(owner)[name]
        if found := self._defined(owner, name):
            return self.functions[found].returns
        init = self.method(owner, "__init__")
        kinds = {argument.arg: argument.annotation for argument in parameters(self.functions[init])} if init else {}
        return kinds.get(name) or kinds.get(name.lstrip("_"))

    def fields(self, owner: Place) -> dict[str, ast.expr]:
        """Annotated attributes of a class body, in order: the fields of a dataclass or model."""
        annotated = [node for node in self.classes[owner].body if isinstance(node, ast.AnnAssign)]
        return {node.target.id: node.annotation for node in annotated if isinstance(node.target, ast.Name)}


def parameters(function: Function) -> list[ast.arg]:
    """The parameters of a function in the order in which positions fill them."""
    arguments = function.args
    rest = [argument for argument in (arguments.vararg, *arguments.kwonlyargs, arguments.kwarg) if argument]
    return [*arguments.posonlyargs, *arguments.args, *rest]
