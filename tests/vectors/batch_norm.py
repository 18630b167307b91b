# Writes batch_norm.json: two steps of torch's BatchNorm1d with a ReLU after it, and scores. Run it in
# this directory.
import json

import torch

torch.manual_seed(3)
UNITS = 5
norm = torch.nn.BatchNorm1d(UNITS)
with torch.no_grad():
    norm.weight.copy_(torch.randn(UNITS))
    norm.bias.copy_(torch.randn(UNITS))
out = {"units": UNITS, "weight": norm.weight.tolist(), "bias": norm.bias.tolist(), "steps": []}
for samples in (7, 4):
    x = (torch.randn(samples, UNITS) * 3 + 2).requires_grad_()
    dy = torch.randn(samples, UNITS)
    norm.zero_grad()
    y = torch.relu(norm(x))
    y.backward(dy)
    out["steps"].append({
        "x": x.flatten().tolist(), "y": y.flatten().tolist(), "dy": dy.flatten().tolist(),
        "dx": x.grad.flatten().tolist(), "weight_gradient": norm.weight.grad.tolist(),
        "bias_gradient": norm.bias.grad.tolist(), "running_mean": norm.running_mean.tolist(),
        "running_var": norm.running_var.tolist()})
norm.eval()
x = torch.randn(3, UNITS)
out["scores"] = {"x": x.flatten().tolist(), "y": torch.relu(norm(x)).flatten().tolist()}
json.dump(out, open("batch_norm.json", "w"))
