import type * as NodeCrypto from 'node:crypto';
import { FhirError } from '../../fhir/error.js';
import { nodeCrypto } from '../../platform/crypto.js';

/**
 * A secret as it is stored, in the PHC string format: `$scrypt$ln=14,r=8,p=1$<salt>$<hash>`, where `ln` is the binary
 * logarithm of the cost, salt (16 bytes) and hash (32 bytes) are base64 without padding. The parameters travel with
 * each hash, so they can be raised later. A replaced secret that is still valid has a fourth parameter, `until`: its
 * expiry, in milliseconds since 1970.
 *
 * The secrets are 256 random bits, which cannot be guessed at any cost; the cost is that of passwords, in case a host
 * sets one. See https://github.com/P-H-C/phc-string-format/blob/master/phc-sf-spec.md.
 */
export type SecretHash = string;

const COST = { ln: 14, r: 8, p: 1 } as const;
/** Maximum parameters accepted from stored text: 128 MiB. */
const MAX_COST = { ln: 17, r: 8, p: 4 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Maximum length of a presented secret, in UTF-16 code units. */
const MAX_SECRET = 1_024;

export async function hashSecret(secret: string): Promise<SecretHash> {
  const salt = serverCrypto().randomBytes(SALT_BYTES);
  const hash = await derive(secret, salt, COST);
  return `$scrypt$ln=${COST.ln},r=${COST.r},p=${COST.p}$${encode(salt)}$${encode(hash)}`;
}

/** The hash of a secret that expires, in milliseconds since 1970; a non-finite time never expires. */
export function validUntil(hash: SecretHash, moment: number): SecretHash {
  const until = Math.floor(moment);
  return Number.isSafeInteger(until) ? hash.replace(/^(\$scrypt\$[^$,]*,[^$,]*,[^$,]*)\$/, `$1,until=${until}$`) : hash;
}

/**
 * Verifies a secret against a stored, unexpired hash in constant time. Anything but a hash (nothing stored, or a
 * foreign plain-text secret) costs one derivation too, and fails.
 */
export async function fitsHash(secret: unknown, stored: unknown): Promise<boolean> {
  const parsed = typeof stored === 'string' ? parseHash(stored) : undefined;
  const usable = typeof secret === 'string' && secret !== '' && secret.length <= MAX_SECRET;
  const { cost, salt, hash, until } = parsed ?? nobody();
  const equal = serverCrypto().timingSafeEqual(await derive(usable ? secret : '', salt, cost), hash);
  return equal && usable && Date.now() < until;
}

interface ParsedHash {
  readonly cost: { readonly ln: number; readonly r: number; readonly p: number };
  readonly salt: Buffer;
  readonly hash: Buffer;
  /** Expiry, in milliseconds since 1970. */
  readonly until: number;
}

function nobody(): ParsedHash {
  return { cost: COST, salt: Buffer.alloc(SALT_BYTES), hash: Buffer.alloc(HASH_BYTES), until: 0 };
}

const FORMAT = /^\$scrypt\$ln=(\d{1,2}),r=(\d),p=(\d)(?:,until=(\d{1,16}))?\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/;

function parseHash(stored: string): ParsedHash | undefined {
  const [, ln, r, p, until, salt, hash] = FORMAT.exec(stored) ?? [];
  if (salt === undefined || hash === undefined) return undefined;
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) };
  const fits = (name: 'ln' | 'r' | 'p'): boolean => cost[name] >= 1 && cost[name] <= MAX_COST[name];
  if (!fits('ln') || !fits('r') || !fits('p')) return undefined;
  return {
    cost,
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
    until: until === undefined ? Infinity : Number(until),
  };
}

function derive(secret: string, salt: Buffer, { ln, r, p }: ParsedHash['cost']): Promise<Buffer> {
  const options: NodeCrypto.ScryptOptions = { N: 2 ** ln, r, p, maxmem: 2 ** ln * r * 128 * 2 };
  return new Promise((resolve, reject) => {
    // Bun passes undefined where Node.js passes null.
    serverCrypto().scrypt(secret.normalize('NFC'), salt, HASH_BYTES, options, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64').replaceAll('=', '');
}

/** @throws FhirError `unsupported` - in a browser, which must not hold the secrets of clients */
function serverCrypto(): typeof NodeCrypto {
  const loaded = nodeCrypto();
  if (loaded === undefined) throw new FhirError('unsupported', 'Client secrets need a server: Node.js, Deno or Bun');
  return loaded;
}
