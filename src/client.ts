// What GraphQL clients keep their caches with. For browsers, too: it imports nothing of the engine.

export { CACHE_KEY } from './client/cache-keys.js';
export { dataIdFromObject, getDataID, keys, possibleTypes, type KeyedObject } from './client/cache-keys.js';
