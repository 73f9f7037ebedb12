"""A 3-D grid of three different extents: each program writes its ids and the extents it sees to its own place."""

import torch
import triton
import triton.language as tl

from harness.cases import KernelCase, case, empty


@triton.jit
def grid_3d_kernel(out):
    x = tl.program_id(0)
    y = tl.program_id(1)
    z = tl.program_id(2)
    at = out + ((z * tl.num_programs(1) + y) * tl.num_programs(0) + x) * 2
    tl.store(at, x + 10 * y + 100 * z)
    tl.store(at + 1, tl.num_programs(0) + 10 * tl.num_programs(1) + 100 * tl.num_programs(2))


@case(grid=[(2, 3, 4), (5, 1, 2), (1, 1, 6)])
def grid_3d(grid):
    x, y, z = grid

    def reference(out):
        ids = torch.arange(x) + 10 * torch.arange(y)[:, None] + 100 * torch.arange(z)[:, None, None]
        return torch.stack([ids, torch.full_like(ids, x + 10 * y + 100 * z)], -1).to(out.dtype)

    return KernelCase(grid_3d_kernel, grid=grid, args=dict(out=empty((z, y, x, 2), "int32")), reference=reference)
