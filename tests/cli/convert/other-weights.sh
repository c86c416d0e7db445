# SPDX-License-Identifier: Apache-2.0
model M
for f in pytorch_model.bin a.pt b.pth c.ckpt d.gguf e.txt; do put M/$f data; done
try gptq-convert --to v2 M O
ls O
