/*
 * Work in the assembly of OpenSSL's libcrypto, called from known places: hashing SECONDS
 */
#define _GNU_SOURCE
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <stdlib.h>
#include <time.h>

#include "chain.h"

static unsigned char text[4096];

KEEP static void acc_digest(const EVP_MD *kind)
{
	unsigned char digest[EVP_MAX_MD_SIZE];

	for (int i = 0; i < 50; i++)
		EVP_Digest(text, sizeof(text), digest, NULL, kind, NULL);
	text[digest[0]] ^= digest[1];
}

KEEP static void acc_cipher(const EVP_CIPHER *kind)
{
	static const unsigned char key[32], iv[16];
	static unsigned char out[sizeof(text) + 64];
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n;

	EVP_EncryptInit_ex(ctx, kind, NULL, key, iv);
	for (int i = 0; i < 100; i++)
		EVP_EncryptUpdate(ctx, out, &n, text, sizeof(text));
	EVP_CIPHER_CTX_free(ctx);
}

KEEP static void acc_power(void)
{
	static BIGNUM *base, *exponent, *modulus, *result;
	static BN_CTX *ctx;

	if (!ctx) {
		ctx = BN_CTX_new();
		result = BN_new();
		BN_rand(base = BN_new(), 1024, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ODD);
		BN_rand(exponent = BN_new(), 200, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ODD);
		BN_rand(modulus = BN_new(), 1024, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ODD);
	}
	BN_mod_exp(result, base, exponent, modulus, ctx);
	STAY;
}

KEEP static void acc_curve(void)
{
	static EC_KEY *key;

	if (!key)
		key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
	for (int i = 0; i < 20; i++)
		EC_KEY_generate_key(key);
}

KEEP static void acc_turn(void)
{
	acc_digest(EVP_md5());
	acc_digest(EVP_sha1());
	acc_digest(EVP_sha256());
	acc_digest(EVP_sha512());
	acc_digest(EVP_sha3_256());
	acc_cipher(EVP_aes_256_gcm());
	acc_cipher(EVP_aes_128_cbc());
	acc_cipher(EVP_aes_128_ctr());
	acc_cipher(EVP_chacha20_poly1305());
	acc_power();
	acc_curve();
	STAY;
}

int main(int argc, char **argv)
{
	double until = argc > 1 ? strtod(argv[1], NULL) : 2;

	while ((double)clock() / CLOCKS_PER_SEC < until)
		acc_turn();
	return 0;
}
