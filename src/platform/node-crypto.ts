import type * as NodeCrypto from 'node:crypto';

/**
 * Node.js's crypto module; undefined in browsers. Deno, Bun and servers compatible with Node.js have it.
 *
 * Not imported: bundles for browsers must not name a module that browsers lack.
 */
export const nodeCrypto: typeof NodeCrypto | undefined =
  typeof process === 'object' && typeof process.getBuiltinModule === 'function'
    ? process.getBuiltinModule('node:crypto')
    : undefined;

/** A random UUID (version 4). */
export function randomId(): string {
  return nodeCrypto === undefined ? crypto.randomUUID() : nodeCrypto.randomUUID();
}
