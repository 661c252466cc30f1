/**
 * The version of the extraction of index rows from resources. It is raised whenever the rows of the same resource
 * change, which a test over fixed resources detects; stores with a lower version are re-indexed.
 */
export const INDEX_VERSION = 5;
