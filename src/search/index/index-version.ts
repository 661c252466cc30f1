/**
 * What is extracted from resources into the index of a store that keeps one. Raised when the rows made for the same resource
 * change, which a test over fixed resources finds out; a store with a lower number is indexed again.
 */
export const INDEX_VERSION = 4;
