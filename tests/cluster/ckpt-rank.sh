#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# One rank of a program that saves as a framework does: ckpt-rank.sh MODE DIR
# [SECONDS that a checkpoint takes]. What happens is a line in DIR/events.
#	megatron	SIGTERM: all save, rank 0 marks, exit 0
#	lightning	SIGUSR1: all save and go on; SIGTERM: exit 143
#	mindio		deaf to signals; rank 0 reads checkpoint.request, and all save and
#			exit 2, also when a rank has failed
mode=$1 dir=$2 takes=${3:-0} step=0 gen=$SUPERNODE_GENERATION
say() { echo "$gen $RANK $*" >>"$dir/events"; }
mark() # FILE TEXT
{
	[ "$RANK" != 0 ] || { printf '%s' "$2" >"$dir/.new" && mv "$dir/.new" "$dir/$1"; }
}
tracker=latest_checkpointed_iteration.txt
[ "$RANK" != 0 ] || step=$(cat "$dir/$tracker" 2>/dev/null || echo 0)
asked='' term=''
case $mode in
megatron) trap 'asked=yes; say term' TERM ;;
lightning) trap 'asked=yes; say usr1' USR1
	trap 'term=yes; say term' TERM ;;
mindio) trap 'say term' TERM INT ;;
esac
say start
while :; do
	sleep 0.2
	step=$((step + 1))
	[ "$RANK" != 0 ] || echo "$step" >"$SUPERNODE_JOB_DIR/progress"
	case $mode in
	mindio)
		if [ "$RANK" = 0 ] && [ ! -e "$dir/dump.$gen" ] &&
			grep -qs "\"generation\":$gen," "$SUPERNODE_JOB_DIR/checkpoint.request"; then
			: >"$dir/dump.$gen"
		fi
		[ ! -e "$dir/die.$gen" ] || [ "$RANK" != 1 ] || { : >"$dir/dump.$gen"; say die; exit 1; }
		[ ! -e "$dir/dump.$gen" ] || asked=yes
		;;
	esac
	if [ -n "$asked" ]; then
		for ((i = 0; i < takes * 5; i++)); do sleep 0.2; done
		say saved
		case $mode in
		megatron) mark $tracker "$step"; exit 0 ;;
		lightning) mark "hpc_ckpt_$((gen + 1)).ckpt" "$step" ;;
		mindio) mark $tracker "$step"; exit 2 ;;
		esac
		asked=
	fi
	[ -z "$term" ] || exit 143
done
