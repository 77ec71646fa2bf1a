"""How much memory and time a class needs: a lesson is run in many kernels at once, as when all students press Run All.

    minigrad lessons load --kernels 30 --lesson 4

Memory is each kernel's proportional share (PSS): pages that kernels share are counted once, so that the sum is what the
machine needs. Where the system does not tell it, it is the resident size.
"""

import asyncio
import os
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import psutil
import zmq
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from nbclient import NotebookClient
from traitlets.config import Config

MEGABYTE = 1_000_000
# As in `minigrad lab`: what is not encrypted makes each kernel warn of it.
CONFIG = Config({"KernelManager": {"transport_encryption": "auto"}} if zmq.has("curve") else {})


@dataclass
class Student:
    """What one kernel took: seconds to start, seconds for each cell, and bytes after the lesson."""

    started: float = 0.0
    cells: list[float] = field(default_factory=list)
    memory: int = 0


def measure(notebook: Path, kernels: int) -> list[Student]:
    """Open so many kernels, run the notebook in all of them at once, and look at each before they close."""
    return asyncio.run(_class(notebook, kernels))


async def _class(notebook: Path, kernels: int) -> list[Student]:
    everybody_done = asyncio.Barrier(kernels)
    return list(await asyncio.gather(*(_student(notebook, everybody_done) for _ in range(kernels))))


async def _student(notebook: Path, everybody_done: asyncio.Barrier) -> Student:
    student, began = Student(), time.perf_counter()
    client = NotebookClient(nbformat.read(notebook, as_version=4), timeout=None, kernel_name="python3", config=CONFIG)
    async with client.async_setup_kernel():
        student.started = time.perf_counter() - began
        for index, cell in enumerate(client.nb.cells):
            began = time.perf_counter()
            await client.async_execute_cell(cell, index)
            if cell.cell_type == "code":
                student.cells.append(time.perf_counter() - began)
        await everybody_done.wait()
        assert client.km is not None and isinstance(client.km.provisioner, LocalProvisioner)
        student.memory = _memory(client.km.provisioner.pid)
        await everybody_done.wait()
    return student


def _memory(pid: int | None) -> int:
    process = psutil.Process(pid)
    return int(getattr(process.memory_full_info(), "pss", 0) or process.memory_info().rss)


def table(students: list[Student]) -> str:
    """The figures as text."""
    memory = [student.memory / MEGABYTE for student in students]
    cells = sorted(seconds for student in students for seconds in student.cells)
    lessons = [sum(student.cells) for student in students]
    rows = [
        ("kernels", f"{len(students)} on {os.cpu_count()} processors"),
        ("memory", f"{statistics.mean(memory):.0f} MB each (at most {max(memory):.0f}), {sum(memory):.0f} MB in all"),
        ("kernel ready", f"after {statistics.median(s.started for s in students):.1f} s "
                         f"(the last after {max(s.started for s in students):.1f} s)"),
        ("a cell", f"{statistics.median(cells):.2f} s (95 % within {cells[int(0.95 * (len(cells) - 1))]:.2f} s)"),
        ("the lesson", f"{statistics.median(lessons):.1f} s (the last {max(lessons):.1f} s)"),
    ]
    return "\n".join(f"{name:14}{value}" for name, value in rows)
