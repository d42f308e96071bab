"""Settings for every test."""

import os

# Some virtual machines announce matrix instructions that they then refuse, and a bfloat16 product would die of it.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

import torch

torch.set_num_threads(1)  # tests run side by side, one per core
