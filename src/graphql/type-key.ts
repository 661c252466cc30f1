/** The key under which objects of an interface say their type. */
export const TYPE_KEY = '_fhirgraph_type';
