# SPDX-License-Identifier: Apache-2.0
# Permissions stay as they are, whatever umask says.
model M
chmod 604 M/*
umask 077
gptq-convert --to v2 -q -i M
ls -l M | cut -c1-10 | sort -u
