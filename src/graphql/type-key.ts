/** The key with the type of an object behind an interface. */
export const TYPE_KEY = '_fhirgraph_type';
