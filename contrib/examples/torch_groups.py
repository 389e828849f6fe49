#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""torch_groups.py - tensor and data parallelism over the groups that the suite
made: a linear layer whose weight is split over TP and whose batch is split over
DP, trained for some steps. Every all-reduce is checked against the sum that one
process alone computes. All numbers are small integers, so the sums are exact.

Start it by `snrun python3 torch_groups.py`; under plain srun say where the
groups are: `srun python3 torch_groups.py groups.json` (from `snctl groups`).
On accelerators put "hccl" or "nccl" for "gloo" and the tensors on the card.
"""
import json
import os
import sys

import torch
import torch.distributed as dist

IN, OUT, BATCH, STEPS = 16, 8, 4, 3


def make_group(groups, axis):
    """My group of the axis. All ranks have to make all groups, in one order."""
    mine = None
    for ranks in groups[axis]:
        group = dist.new_group(ranks)
        if dist.get_rank() in ranks:
            mine = (group, ranks)
    return mine


def numbers(seed, *shape):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-9, 10, shape, generator=generator).to(torch.float64)


def check(what, got, want):
    if not torch.equal(got, want):
        sys.exit("rank %d: %s is wrong by up to %g" % (dist.get_rank(), what, (got - want).abs().max()))


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.environ["SUPERNODE_JOB_DIR"], "groups.json")
    with open(path) as f:
        groups = json.load(f)["groups"]
    torch.set_num_threads(1)
    dist.init_process_group("gloo")  # RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT
    tp, tp_ranks = make_group(groups, "tp")
    dp, dp_ranks = make_group(groups, "dp")
    t, d, rank = tp_ranks.index(dist.get_rank()), dp_ranks.index(dist.get_rank()), dist.get_rank()
    if (t, d) != (int(os.environ["TP_RANK"]), int(os.environ["DP_RANK"])):
        sys.exit("rank %d is %d in its TP and %d in its DP group, but TP_RANK=%s and DP_RANK=%s"
                 % (rank, t, d, os.environ["TP_RANK"], os.environ["DP_RANK"]))
    weight = numbers(1, IN, OUT)  # the whole one, only to check
    rows = slice(t * IN // len(tp_ranks), (t + 1) * IN // len(tp_ranks))
    part = weight[rows].clone()
    for step in range(STEPS):
        batches = [numbers(1000 * step + i + 7, BATCH, IN) for i in range(len(dp_ranks))]
        mine = batches[d]
        # Row-parallel: each TP rank has a part of the sum over the inputs.
        y = mine[:, rows] @ part
        dist.all_reduce(y, group=tp)
        check("the sum over TP group %s" % tp_ranks, y, mine @ weight)
        # The gradient of sum(y) by the weight, summed over the batches of DP.
        grad = mine[:, rows].t() @ torch.ones(BATCH, OUT, dtype=torch.float64)
        dist.all_reduce(grad, group=dp)
        whole = sum(b.t() @ torch.ones(BATCH, OUT, dtype=torch.float64) for b in batches)
        check("the gradient over DP group %s" % dp_ranks, grad, whole[rows])
        part -= grad
        weight = weight - whole
    check("the weight", part, weight[rows])
    dist.barrier()
    if rank == 0:
        print("torch: %d ranks, %d steps over %d TP groups of %d and %d DP groups of %d: every sum is right"
              % (dist.get_world_size(), STEPS, len(groups["tp"]), len(tp_ranks), len(groups["dp"]), len(dp_ranks)), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
