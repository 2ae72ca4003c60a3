"""Strongly connected components of two or more, by Tarjan's walk, without recursion: a chain may be a million long."""

from collections.abc import Iterable, Iterator


def rings(edges: Iterable[tuple[int, int]]) -> list[list[int]]:
    after: dict[int, list[int]] = {}
    for source, target in edges:
        after.setdefault(source, []).append(target)
    walk = _Walk(after)
    for root in after:
        if root not in walk.number:
            walk.from_root(root)
    return walk.found


class _Walk:
    def __init__(self, after: dict[int, list[int]]) -> None:
        self.after = after
        self.number: dict[int, int] = {}  # in order of discovery
        self.found: list[list[int]] = []
        self._lowest: dict[int, int] = {}  # the earliest node that can be reached and is still open
        self._open: list[int] = []
        self._is_open: set[int] = set()
        self._path: list[tuple[int, Iterator[int]]] = []

    def from_root(self, root: int) -> None:
        self._enter(root)
        while self._path:
            node, further = self._path[-1]
            target = next(further, None)
            if target is None:
                self._leave(node)
            elif target not in self.number:
                self._enter(target)
            elif target in self._is_open:
                self._lowest[node] = min(self._lowest[node], self.number[target])

    def _enter(self, node: int) -> None:
        self.number[node] = self._lowest[node] = len(self.number)
        self._open.append(node)
        self._is_open.add(node)
        self._path.append((node, iter(self.after.get(node, ()))))

    def _leave(self, node: int) -> None:
        self._path.pop()
        if self._path:
            parent = self._path[-1][0]
            self._lowest[parent] = min(self._lowest[parent], self._lowest[node])
        if self._lowest[node] == self.number[node]:
            self._close(node)

    def _close(self, first: int) -> None:
        """Everything opened since `first` belongs together."""
        ring = [self._open.pop()]
        while ring[-1] != first:
            ring.append(self._open.pop())
        self._is_open.difference_update(ring)
        if len(ring) > 1:
            self.found.append(sorted(ring))
