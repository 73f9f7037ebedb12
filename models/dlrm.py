"""A recommender of the shape of DLRM: embedding bags of any length, and every pair of features multiplied.

Bags lie one behind the other, and a bag's number for each index is found by a search in their offsets; rows are looked
up by data and added into their bags by atomic additions, one bag being empty. The pairs are a batched product of which
the triangle below the diagonal is gathered.
"""

import torch
from torch import nn

from harness.cases import ModelCase, case

# Rows of the tables, width, dense features, hidden width, batch, indices.
SIZES = {"tiny": ((20, 7, 50), 8, 5, 16, 6, 20), "full": ((100000, 20000, 5000, 500) * 2, 64, 13, 512, 128, 1024)}


@case(dtype=["fp32"], size=["tiny", "full"])
def dlrm(dtype, size):
    rows, width, dense, hidden, batch, count = SIZES[size]
    indices = torch.stack([torch.randint(one, (count,)) for one in rows])
    cuts = torch.randint(count, (len(rows), batch)).sort(1).values
    cuts[:, 0] = 0
    cuts[:, 3] = cuts[:, 2]  # bag 2 is empty
    return ModelCase(Dlrm(rows, width, dense, hidden), inputs=(torch.randn(batch, dense), indices, cuts), dtype=dtype)


class Dlrm(nn.Module):
    def __init__(self, rows, width, dense, hidden):
        super().__init__()
        self.tables = nn.ParameterList(torch.randn(one, width) for one in rows)
        self.bottom = nn.Sequential(nn.Linear(dense, hidden), nn.ReLU(), nn.Linear(hidden, width), nn.ReLU())
        pairs = len(rows) * (len(rows) + 1) // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, hidden), nn.ReLU(), nn.Linear(hidden, 1), nn.Sigmoid())

    def forward(self, dense, indices, cuts):
        """dense (batch, features), indices (tables, indices), cuts (tables, batch): where each bag begins."""
        x = self.bottom(dense)
        bags = [bag_sums(*each) for each in zip(self.tables, indices, cuts, strict=True)]
        features = torch.stack([x, *bags], 1)
        products = features @ features.mT
        row, column = torch.tril_indices(features.shape[1], features.shape[1], -1)
        return self.top(torch.cat((x, products[:, row, column]), 1))


def bag_sums(table, indices, cuts):
    """What F.embedding_bag gives for mode="sum"."""
    bag = torch.searchsorted(cuts, torch.arange(len(indices)), right=True) - 1
    return table.new_zeros(len(cuts), table.shape[1]).index_add(0, bag, table[indices])
