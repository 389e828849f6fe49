#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# enroot-hook.t - the hook of contrib/containers, in a stand-in for enroot: the
# job's directory, table and pool reach the inside, and nothing else does.
runtime=$SN_SRCDIR/tests/containers/runtime
if ! unshare --mount true 2>/dev/null && ! unshare --mount --map-root-user true 2>/dev/null; then
	echo "1..0 # SKIP no mount namespaces here"
	exit 0
fi
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM
n=0
ok() {
	if [ $? -eq 0 ]; then r=ok; else r='not ok'; fi
	n=$((n + 1))
	echo "$r $n - $1"
	[ "$r" = ok ]
}

mkdir -p "$dir/sys/hooks.d" "$dir/job" "$dir/pool" "$dir/other" "$dir/odd dir"
cp "$SN_SRCDIR/contrib/containers/50-supernode.sh" "$dir/sys/hooks.d/"
echo layout >"$dir/job/layout.json"
echo table >"$dir/job/ranktable.json"
echo mine >"$dir/table.json"
echo secret >"$dir/other/secret"

# job VAR=VALUE… -- MODE COMMAND…: as a task of a job with just these variables.
job() {
	env -i PATH="$PATH" HOME="$dir" TMPDIR="$dir" ENROOT_SYSCONF_PATH="$dir/sys" \
		SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_PROCID=3 SLURM_LOCALID=1 "$@" >"$dir/out" 2>"$dir/err"
}
show() { sed 's/^/# /' "$dir/out" "$dir/err"; }

job SLURM_JOB_SUPERNODE_MOUNTS="$dir/job:$dir/pool:$dir/nowhere" \
	SUPERNODE_JOB_DIR="$dir/job" SUPERNODE_POOL_DIR="$dir/pool" RANK_TABLE_FILE="$dir/job/ranktable.json" \
	"$runtime" pyxis sh -c 'cat $SUPERNODE_JOB_DIR/layout.json $RANK_TABLE_FILE && echo hi >$SUPERNODE_POOL_DIR/x && [ -c /dev/null ]'
[ $? -eq 0 ] && [ "$(cat "$dir/out")" = "layout
table" ] && [ "$(cat "$dir/pool/x")" = hi ]
ok "pyxis: job directory, table, pool and devices are inside" || show

job SLURM_JOB_SUPERNODE_MOUNTS="$dir/job" "$runtime" pyxis sh -c "[ ! -e $dir/other ] && [ ! -e $dir/pool ]"
ok "pyxis: nothing else is" || show

job SUPERNODE_JOB_DIR="$dir/job" "$runtime" pyxis sh -c "[ ! -e $dir/job ]"
ok "pyxis: a variable that it does not pass on does not count" || show

job SUPERNODE_JOB_DIR="$dir/job" SUPERNODE_POOL_DIR="$dir/pool" RANK_TABLE_FILE="$dir/table.json" \
	SUPERNODE_VARS=RANK,SUPERNODE_JOB_DIR,RANK_TABLE_FILE,odd-name,NOT_SET RANK=3 SECRET=x \
	"$runtime" enroot sh -c 'cat $RANK_TABLE_FILE $SUPERNODE_JOB_DIR/layout.json; echo "$RANK $SLURM_PROCID $SUPERNODE_POOL_DIR ${SECRET-none}"'
[ $? -eq 0 ] && [ "$(cat "$dir/out")" = "mine
layout
3 3 $dir/pool none" ]
ok "enroot: what the suite set for the rank goes along, and no more" || show

job SLURM_JOB_SUPERNODE_MOUNTS="$dir/odd dir:relative:$dir/job:$dir/job" "$runtime" pyxis cat "$dir/job/layout.json"
[ $? -eq 0 ] && [ "$(cat "$dir/out")" = layout ]
ok "paths that no fstab can hold are passed over" || show

job SLURM_JOB_SUPERNODE_MOUNTS="$dir/nowhere" "$runtime" pyxis true
ok "a directory that is not there ends nothing" || show

job APPTAINER_BIND="$dir/job,$dir/pool:$dir/pool" "$runtime" apptainer sh -c "cat $dir/job/layout.json && [ -d $dir/pool ] && [ ! -e $dir/other ]"
ok "apptainer: APPTAINER_BIND" || show
job APPTAINER_BIND="$dir/nowhere" "$runtime" apptainer true
[ $? -eq 255 ]
ok "apptainer: what is not there would end the run" || show

env -i PATH="$PATH" TMPDIR="$dir" ENROOT_SYSCONF_PATH="$dir/sys" "$runtime" enroot true
ok "outside of jobs the hook does nothing"
echo "1..$n"
