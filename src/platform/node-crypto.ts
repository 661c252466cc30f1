import type * as NodeCrypto from 'node:crypto';

/**
 * Node.js's crypto module; undefined in browsers. Deno, Bun and servers compatible with Node.js have it.
 *
 * Not imported: bundles for browsers must not name a module that browsers lack.
 *
 * PERF: loading it takes 3 ms, so that is left to the first use.
 */
export function nodeCrypto(): typeof NodeCrypto | undefined {
  if (!isLooked) {
    loaded =
      typeof process === 'object' && typeof process.getBuiltinModule === 'function'
        ? process.getBuiltinModule('node:crypto')
        : undefined;
    isLooked = true;
  }
  return loaded;
}

let loaded: typeof NodeCrypto | undefined;
let isLooked = false;

/** A random UUID (version 4). */
export function randomId(): string {
  return nodeCrypto()?.randomUUID() ?? crypto.randomUUID();
}
