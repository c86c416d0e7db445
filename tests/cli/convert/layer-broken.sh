# SPDX-License-Identifier: Apache-2.0
model M
cp M/model.safetensors saved
p=model.layers.0.proj
try_tensor() {
	cp saved M/model.safetensors
	tensor M/model.safetensors "$@"
	rm -rf O
	try gptq-convert --to v2 M O
}
try_tensor $p.qzeros shape=4,7
try_tensor $p.qzeros shape=3,8
try_tensor $p.qzeros shape=32
try_tensor $p.qzeros dtype=F32
try_tensor $p.qzeros dtype=U32
try_tensor $p.qweight dtype=F32
try_tensor $p.qweight shape=16,63
try_tensor $p.scales dtype=I16
try_tensor $p.g_idx dtype=F32
try_tensor $p.g_idx shape=100
try_tensor $p.g_idx shape=0
try_tensor $p.g_idx first=4
try_tensor $p.g_idx first=-5
try_tensor $p.g_idx first=-4
try_tensor $p.qzeros drop=1
try_tensor $p.scales drop=1
try_tensor $p.qweight drop=1
try_tensor $p.qzeros "rename=$(printf 'model.\033[31m\nevil\t.qzeros')"
only . M saved
