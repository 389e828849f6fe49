# SPDX-License-Identifier: GPL-2.0-or-later
# dbd.sh - accounting for a test's cluster: an own mariadbd, without network, and
# an own slurmdbd; both end with the cluster.
#
# A Slurm built where MariaDB's headers were not has no accounting_storage/mysql.
# $SN_DBD_PLUGINS may name a directory that does have it, of the same version. And
# $SN_DBD_LIBRARIES one with another libmariadb.so.3 for slurmdbd: it cannot work with
# that of MariaDB 11.8.9 (Debian 13), whatever the server, and does with that of 10.11.

# Skips the test where there is no database. Before start_cluster.
need_dbd()
{
	local dir

	[ -n "${SN_SLURM_PREFIX:-}" ] || return 0 # start_cluster says so
	PATH=$PATH:/usr/sbin
	command -v mariadbd >/dev/null && command -v mariadb-install-db >/dev/null ||
		skip_all "MariaDB is not installed (Debian: mariadb-server)"
	[ -x "$SN_SLURM_PREFIX/sbin/slurmdbd" ] ||
		skip_all "no slurmdbd in $SN_SLURM_PREFIX/sbin (Debian: slurmdbd)"
	DBD_PLUGINS=
	for dir in $(slurm_plugins_of "$SN_SLURM_PREFIX") ${SN_DBD_PLUGINS:-}; do
		[ ! -e "$dir/accounting_storage_mysql.so" ] || DBD_PLUGINS=$dir
	done
	[ -n "$DBD_PLUGINS" ] ||
		skip_all "this Slurm has no accounting_storage/mysql (Debian: slurm-wlm-mysql-plugin; to build it: libmariadb-dev)"
}

db_up()
{
	local dir=$CL_DIR/db

	mkdir -p "$dir" && chmod 700 "$dir" || return 1
	# Its root has no password; nobody else reaches the socket.
	mariadb-install-db --no-defaults --user=root --datadir="$dir/data" --skip-test-db \
		--auth-root-authentication-method=normal >"$CL_DIR/log/mariadb.log" 2>&1 || return 1
	setsid mariadbd --no-defaults --user=root --datadir="$dir/data" --socket="$dir/socket" \
		--pid-file="$dir/pid" --skip-networking --skip-log-bin --innodb-buffer-pool-size=16M \
		--innodb-log-file-size=8M --innodb-flush-log-at-trx-commit=0 --key-buffer-size=1M \
		>>"$CL_DIR/log/mariadb.log" 2>&1 </dev/null 7>&- 8>&- 9>&- &
	note_pid "$CL_DIR/run/beside-2-mariadb" $! || return 1
	disown
	until_true 30 test -S "$dir/socket"
}

dbd_answers()
{
	timeout 10 sacctmgr -n show cluster >/dev/null 2>&1
}

dbd_run() # PORT
{
	cat >"$CL_DIR/etc/slurmdbd.conf" <<-END
		AuthType=auth/munge
		AuthInfo=socket=$CL_DIR/munge/socket
		DbdHost=localhost
		DbdAddr=127.0.0.1
		DbdPort=$1
		SlurmUser=root
		PidFile=$CL_DIR/run/slurmdbd.pid
		LogFile=$CL_DIR/log/slurmdbd.log
		DebugLevel=info
		PluginDir=$DBD_PLUGINS:$CL_SLURM_PLUGINS
		StorageType=accounting_storage/mysql
		StorageHost=localhost
		StorageUser=root
		StorageLoc=slurm
	END
	chmod 600 "$CL_DIR/etc/slurmdbd.conf" || return 1
	MYSQL_UNIX_PORT=$CL_DIR/db/socket LD_LIBRARY_PATH=${SN_DBD_LIBRARIES:-}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
		setsid slurmdbd -D >"$CL_DIR/log/slurmdbd.out" 2>&1 </dev/null 7>&- 8>&- 9>&- &
	note_pid "$CL_DIR/run/beside-1-slurmdbd" $! || return 1
	disown
}

# accounting_up LINE…: database, slurmdbd, and a new slurmctld that has these
# further lines in slurm.conf and talks to it. Its first state would not do: a
# cluster has its number from the database.
accounting_up()
{
	local port

	db_up || { tail -n 5 "$CL_DIR/log/mariadb.log"; return 1; }
	port=$(free_ports 1) || return 1
	ctld_kill TERM && rm -rf "${CL_DIR:?}"/state/* || return 1
	cat >>"$CL_DIR/etc/slurm.conf" <<-END
		AccountingStorageType=accounting_storage/slurmdbd
		AccountingStorageHost=127.0.0.1
		AccountingStoragePort=$port
		AccountingStoragePass=$CL_DIR/munge/socket
	END
	printf '%s\n' "$@" >>"$CL_DIR/etc/slurm.conf"
	dbd_run "$port" && until_true 30 dbd_answers ||
		{ tail -n 5 "$CL_DIR"/log/slurmdbd.*; return 1; }
	ctld_up || { echo "$CL_WHY"; return 1; }
	timeout 60 scontrol reconfigure && until_true 30 is_registered && cluster_ready || { echo "$CL_WHY"; return 1; }
}

is_registered()
{
	sacctmgr -n -P show cluster format=cluster,controlport 2>/dev/null | grep -q "^supernode|$CL_PORT"
}
