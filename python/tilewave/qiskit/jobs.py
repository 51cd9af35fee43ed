"""Jobs on threads of their own whose computations end within a tenth of a second when the job is cancelled, and with it
when its result is waited for and Ctrl-C comes."""
from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any

from qiskit.primitives import PrimitiveJob
from qiskit.providers import JobStatus

from .. import _core


class Cancellable:
    """`run` watches the token of a job; `cancel` sets it."""

    def __init__(self) -> None:
        self.token = _core._CancelToken()

    def run(self, work: Any, *arguments: Any) -> Any:
        _core._watch(self.token)
        try:
            if self.token.is_cancelled:
                raise CancelledError("the job was cancelled")
            return work(*arguments)
        finally:
            _core._watch(None)


class TilewavePrimitiveJob(PrimitiveJob):  # type: ignore[type-arg]
    """Qiskit's job, which ends what runs, too."""

    def __init__(self, work: Any, *arguments: Any) -> None:
        self._cancellable = Cancellable()
        super().__init__(self._cancellable.run, work, *arguments)

    def status(self) -> JobStatus:
        status = super().status()
        return JobStatus.CANCELLED if status == JobStatus.ERROR and self._cancellable.token.is_cancelled else status

    def cancel(self) -> bool:
        """Ends the job, running or not. False where it has ended before."""
        if self.in_final_state():
            return False
        self._cancellable.token.cancel()
        super().cancel()
        return True

    def result(self) -> Any:
        try:
            return super().result()
        except KeyboardInterrupt:
            self.cancel()
            raise

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_function": None, "_args": (), "_cancellable": None}
