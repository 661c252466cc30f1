/**
 * Name of the field that identifies a resource among all others, including contained ones. It cannot collide with a
 * FHIR element, because no element has an underscore inside its name.
 */
export const CACHE_KEY = 'cache_key';
