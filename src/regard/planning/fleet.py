"""The hardware of a plan: this machine, measured, or graphics cards by their data sheets."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.errors import UsageError
from regard.machine import memory

if TYPE_CHECKING:
    import torch

# Bytes a second between machines: a network of 100 Gbit/s.
NETWORK = 12.5e9


@dataclass(frozen=True)
class Device:
    """Peaks are dense FLOP/s; `bfloat16` is 0 where the hardware has no such products."""

    name: str
    memory: float  # bytes
    bandwidth: float  # bytes/s of its memory
    float32: float
    bfloat16: float
    link: float  # bytes/s one way to the others in the same machine
    is_card: bool = True
    loss: float = 0.0  # FLOP/s of the loss, where another library computes it; 0 = as of layers


@dataclass(frozen=True)
class Fleet:
    """Equal devices in one or more machines."""

    device: Device
    per_node: int = 1
    nodes: int = 1

    @property
    def size(self) -> int:
        return self.nodes * self.per_node

    @property
    def link(self) -> float:
        """A ring is as fast as its slowest link."""
        return NETWORK if self.nodes > 1 else self.device.link

    def __str__(self) -> str:
        if not self.device.is_card:
            return f"{self.device.name}, {self.size} process{'es' * (self.size > 1)}"
        count = f"{self.per_node} × " if self.size > 1 else ""
        return f"{self.nodes} machines of " * (self.nodes > 1) + count + self.device.name


def sheet(name: str, *units: float) -> Device:
    """A device in the units of data sheets: GB and GB/s of memory, TFLOP/s, GB/s of link."""
    memory, bandwidth, float32, bfloat16, link = units
    tera = float32 * 1e12, bfloat16 * 1e12
    return Device(name, memory * 1e9, bandwidth * 1e9, *tera, link=link * 1e9)


# NVLink where the usual board has it, else PCI Express.
CARDS = (
    sheet("P100", 16, 732, 10.6, 0, 80),
    sheet("V100", 32, 900, 15.7, 0, 150),
    sheet("T4", 16, 320, 8.1, 0, 16),
    sheet("L4", 24, 300, 30.3, 121, 32),
    sheet("A10", 24, 600, 31.2, 125, 32),
    sheet("A100-40", 40, 1555, 19.5, 312, 300),
    sheet("A100-80", 80, 2039, 19.5, 312, 300),
    sheet("H100", 80, 3350, 67, 989, 450),
    sheet("RTX 3090", 24, 936, 35.6, 71, 32),
    sheet("RTX 4090", 24, 1008, 82.6, 165, 32),
)


def find_fleet(text: str, processes: int = 1) -> Fleet:
    """The cards that are named, or this machine, whose cores the processes share."""
    return cards_by_name(text) or fleet_here(text, processes)


def cards_by_name(text: str) -> Fleet | None:
    """Read A100, 8xA100 or 2x8xH100 (two machines of eight); None for "" and cpu, which are this
    machine.
    """
    times = r"(?:(\d+)\s*[xX×]\s*)?"
    found = re.fullmatch(f"{times}{times}(.*)", text.strip())
    first, second, name = found.groups("") if found else ("", "", text)
    nodes, per_node = (int(first), int(second)) if second else (1, int(first or 1))
    if name.lower() in ("", "cpu") and not first:
        return None
    wanted = plain(name).removesuffix("gb")
    for card in CARDS:
        # The name alone means the smaller of two sizes, which comes first.
        if wanted in (plain(card.name), plain(card.name.split("-")[0])) and nodes * per_node:
            return Fleet(card, per_node, nodes)
    raise UsageError(
        f'--device "{text}": not known; write it like A100, 8xA100 or 2x8xH100, of '
        f"{', '.join(card.name for card in CARDS)}, or cpu for this machine"
    )


def fleet_here(name: str, processes: int) -> Fleet:
    """This machine, measured; `name` is cpu to leave its cards out."""
    from regard.machine import devices

    device = devices.choose_device(name.strip().lower() or "auto")
    return cards_here(device) if device.type == "cuda" else cores_here(device, processes)


def plain(name: str) -> str:
    """Letters and figures alone: "rtx-4090" is "RTX 4090"."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def cores_here(device: "torch.device", processes: int) -> Fleet:
    """A machine without CUDA: the speed of products is measured, the rest is a cautious guess."""
    from regard.layers.linear import convolutions_are_faster
    from regard.machine import devices

    peak = devices.gemm_rate(device)
    loss = devices.loss_rate() if device.type == "cpu" and convolutions_are_faster() else peak
    free = memory.free_memory() or memory.total_memory() or 8e9
    if device.type != "cpu":
        return Fleet(Device("this machine's graphics", free, 100e9, peak, 0.0, 10e9))
    peaks = {"float32": peak / processes, "bfloat16": 0.0, "loss": loss / processes}
    one = Device("this CPU", free / processes, 10e9, link=5e9, is_card=False, **peaks)
    return Fleet(one, processes)


def cards_here(device: "torch.device") -> Fleet:
    import torch

    from regard.machine import devices

    native = torch.cuda.is_bf16_supported(including_emulation=False)
    facts = torch.cuda.get_device_properties(device)
    here = Device(
        name=facts.name,
        memory=facts.total_memory,
        bandwidth=300e9,
        float32=devices.gemm_rate(device),
        bfloat16=devices.gemm_rate(device, torch.bfloat16) if native else 0.0,
        link=16e9,
    )
    return Fleet(here, torch.cuda.device_count())
