"""Tensors of which each rank has a part (torch's DTensor): all of it, or one's own part. Others are as they are."""

from __future__ import annotations

from typing import Any

from torch import Tensor


def is_split(tensor: Tensor) -> bool:
    """Whether ranks share it. Asked by its looks: importing the class takes longer than all else here."""
    return hasattr(tensor, "to_local")


def own(tensor: Any) -> Tensor:
    """This rank's part."""
    part: Tensor = tensor.to_local() if is_split(tensor) else tensor
    return part


def whole(tensor: Any) -> Tensor:
    """All of it; where it is split, every rank must ask."""
    everything: Tensor = tensor.full_tensor() if is_split(tensor) else tensor
    return everything


def split_like(model: Any, tensor: Tensor) -> Tensor:
    """Split as another tensor is, if that has its shape; every rank has all of this one, so nothing is sent."""
    if not is_split(model) or model.shape != tensor.shape:
        return tensor
    from torch.distributed.tensor import distribute_tensor

    there: Tensor = distribute_tensor(tensor, model.device_mesh, model.placements, src_data_rank=None)
    return there
