# SPDX-License-Identifier: Apache-2.0
# A signal while the stream is waited for.
file a.safetensors
mkfifo pipe
gptq-convert --to v2 --from v1 - - <pipe >out &
exec 3>pipe
head -c 600 a.safetensors >&3
sleep 0.3
kill -TERM $!
wait $!
echo "exit $?"
exec 3>&-
