#! /usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 50-supernode.sh - a hook of enroot: what of a job must be seen in its container.
#
# Install it executable in /etc/enroot/hooks.d. It runs before the container's root
# is entered, and adds lines to the files that $ENROOT_MOUNTS and $ENROOT_ENVIRON
# name.
#
# Under pyxis, enroot knows of a job only what begins with SLURM_JOB_ and the like;
# spank_supernode puts the paths there, and pyxis takes the tasks' variables along
# itself. With plain `srun enroot start …` the task's own environment is here, and
# its variables have to be passed on.
set -euo pipefail

[ -n "${SLURM_JOB_ID-}" ] && [ -n "${ENROOT_MOUNTS-}" ] || exit 0

declare -A seen

# mount_path PATH: where it is outside, if it is there.
mount_path() {
	local kind
	case $1 in
	/*) ;;
	*) return 0 ;;
	esac
	# Nothing that fstab's grammar gives a meaning to.
	case $1 in
	*[[:space:]:,\\\"\'\$]*) return 0 ;;
	esac
	[ -z "${seen[$1]-}" ] || return 0
	seen[$1]=1
	if [ -d "$1" ]; then
		kind=dir
	elif [ -e "$1" ]; then
		kind=file
	else
		return 0
	fi
	printf '%s %s none x-create=%s,bind,rw,nosuid,nodev,private,nofail\n' \
		"$1" "$1" "$kind" >>"$ENROOT_MOUNTS"
}

IFS=: read -r -a paths <<<"${SLURM_JOB_SUPERNODE_MOUNTS-}"
for path in "${paths[@]-}" "${SUPERNODE_JOB_DIR-}" "${SUPERNODE_POOL_DIR-}" "${RANK_TABLE_FILE-}"; do
	[ -z "$path" ] || mount_path "$path"
done

# Without pyxis: what the suite has set for this rank. SUPERNODE_VARS names it.
if [ -n "${SLURM_PROCID-}" ] && [ -n "${SUPERNODE_VARS-}" ]; then
	IFS=$' \t,:' read -r -a names <<<"$SUPERNODE_VARS"
	for name in "${names[@]}" SUPERNODE_POOL_DIR SUPERNODE_POOL_BYTES ASCEND_MEMORY_POOL \
		SLURM_PROCID SLURM_LOCALID SLURM_JOB_ID; do
		[[ $name =~ ^[A-Za-z_][A-Za-z0-9_]*$ ]] && [ -n "${!name+set}" ] || continue
		# The file has a line for each; no value of ours has several.
		[[ ${!name} != *$'\n'* ]] || continue
		printf '%s=%s\n' "$name" "${!name}" >>"$ENROOT_ENVIRON"
	done
fi
exit 0
