/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * snmemauth.c - how the two ends of a connection know each other (snmem_internal.h).
 *
 * By libgcrypt, and not munge: ranks run in containers, where munged's socket is not.
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <sys/random.h>

#ifdef HAVE_GCRYPT
#include <gcrypt.h>
#endif

#include "launcher/snmem_internal.h"

int mem_nonce(unsigned char nonce[MEM_NONCE])
{
	return getrandom(nonce, MEM_NONCE, 0) == MEM_NONCE ? 0 : -EIO;
}

#ifdef HAVE_GCRYPT

static void begin(void)
{
	gcry_check_version(NULL);
	/* The program may use it, too, and then in its own way. */
	if (!gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P)) {
		gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
		gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
	}
}

static int open_mac(const struct mem_auth *auth, enum mem_says says, const void *data, size_t len,
		    gcry_mac_hd_t *ret)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const char word = (char)says;
	gcry_mac_hd_t mac;

	pthread_once(&once, begin);
	if (gcry_mac_open(&mac, GCRY_MAC_HMAC_SHA256, 0, NULL))
		return -ENOSYS;
	if (gcry_mac_setkey(mac, auth->token, sizeof(auth->token)) ||
	    gcry_mac_write(mac, &word, 1) ||
	    gcry_mac_write(mac, auth->server, sizeof(auth->server)) ||
	    gcry_mac_write(mac, auth->client, sizeof(auth->client)) ||
	    gcry_mac_write(mac, data, len)) {
		gcry_mac_close(mac);
		return -EIO;
	}
	*ret = mac;
	return 0;
}

int mem_sign(const struct mem_auth *auth, enum mem_says says, const void *data, size_t len,
	     unsigned char ret[MEM_MAC])
{
	size_t size = MEM_MAC;
	gcry_mac_hd_t mac;
	int rc = open_mac(auth, says, data, len, &mac);

	if (rc)
		return rc;
	rc = gcry_mac_read(mac, ret, &size) || size != MEM_MAC ? -EIO : 0;
	gcry_mac_close(mac);
	return rc;
}

int mem_check(const struct mem_auth *auth, enum mem_says says, const void *data, size_t len,
	      const unsigned char mac_is[MEM_MAC])
{
	gcry_mac_hd_t mac;
	int rc = open_mac(auth, says, data, len, &mac);

	if (rc)
		return rc;
	rc = gcry_mac_verify(mac, mac_is, MEM_MAC) ? -EKEYREJECTED : 0;
	gcry_mac_close(mac);
	return rc;
}

#else

int mem_sign(const struct mem_auth *auth, enum mem_says says, const void *data, size_t len,
	     unsigned char ret[MEM_MAC])
{
	(void)auth, (void)says, (void)data, (void)len, (void)ret;
	return -ENOSYS;
}

int mem_check(const struct mem_auth *auth, enum mem_says says, const void *data, size_t len,
	      const unsigned char mac[MEM_MAC])
{
	(void)auth, (void)says, (void)data, (void)len, (void)mac;
	return -ENOSYS;
}

#endif
