"""A workload of a store of your own: somebody calls the roll, and everybody answers."""

from typing import Annotated, Self

from pydantic import Field

from bypass.models.storage import StorageWorkload
from bypass.models.storage.operations import OperationKind, StorageOperations
from bypass.models.storage.posts import Posts


class RollCall(StorageWorkload):
    """The first client asks for all answers; all others give theirs, one every `every` seconds."""

    every: Annotated[float, Field(gt=0)] = 2.0
    rounds: Annotated[int, Field(ge=1)] = 3
    most: Annotated[int, Field(ge=1)] = 100

    @property
    def length(self) -> float:
        return self.rounds * self.most * self.every

    def draw(self, nodes: int, seed: int) -> StorageOperations:
        def answers(node: int) -> list[tuple[float, int, list[int]]]:
            turns = range(self.rounds) if 0 < node < self.most else ()
            return [((turn * self.most + node) * self.every, 5, [0]) for turn in turns]  # 5 bytes, tag 0

        posts = Posts.of_authors([answers(node) for node in range(nodes)], ("present",))
        asked = [(0, 0, 0, True)]  # at once, by client 0, tag 0, all time
        rows = [(0, 0, OperationKind.SUBSCRIBE.value, 0)]
        for number, (at, node) in enumerate(zip(posts.at_us, posts.author, strict=True)):
            rows.append((int(at), int(node), OperationKind.INSERT.value, number))
        return StorageOperations.of_rows(posts, rows, asked)

    def stretched(self, factor: float) -> Self:
        return self.model_copy(update={"every": self.every * factor})
