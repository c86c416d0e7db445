# SPDX-License-Identifier: Apache-2.0
# Other formats, from headers alone and from q_groups.
many() { for i in 0 1; do for t in "$@"; do echo "model.layers.$i.proj.$t"; done; done; }
show() { tensors "$@"; try gptq-inspect --headers "$1"; }
show marlin.safetensors $(many B=I32:16,256 s=F16:2,128) model.norm.weight=F16:64
show gemm.safetensors $(many qweight=I32:256,16 qzeros=I32:2,16 scales=F16:2,128)
show gemv.safetensors $(many qweight=I32:128,32 qzeros=I32:128,2 scales=F16:128,16)
show gemv_fast.safetensors $(many qweight=I16:32,256 qzeros=F16:16,128 scales=F16:16,128)
show exl2.safetensors $(many q_weight=I32:34,128 q_groups=I16:8 q_scale=I32:4,16 q_scale_max=F16:4 q_invperm=I32:256)
show exl3.safetensors $(many trellis=I16:16,8,64 suh=F16:256 svh=F16:128)
show bitblas.safetensors $(many qweight=I8:128,128 qzeros=I8:0 scales=F16:128,2)
show qqq.safetensors $(many B=I32:16,256 s_channel=F32:1,128 s_group=F16:0)
show ct.safetensors $(many weight_packed=I32:128,32 weight_scale=F16:128,2 weight_shape=I64:2)
show bnb4.safetensors $(many weight=U8:16384,1 weight.absmax=F32:512 weight.quant_map=F32:16)
show bnb8.safetensors $(many weight=I8:128,256 SCB=F32:128)
show fp8.safetensors $(many weight=F8_E4M3:128,256 weight_scale_inv=F32:1,2)
show hqq.safetensors $(many W_q=U8:16384,1 scale=F16:512,1 zero=F16:512,1)
show aqlm.safetensors $(many codes=I16:128,32,1 codebooks=F16:1,256,1,8 scales=F16:128,1,1,1)

# Two pairs (bits, first row): 5 and 3 bits.
printf '\005\000\000\000\003\000\050\000' | python3 "$MK" fill exl2.safetensors model.layers.0.proj.q_groups
try gptq-inspect exl2.safetensors
gptq-inspect --json exl2.safetensors | python3 -m json.tool | sed -n '/"other_format"/,/}/p'
