/**
 * Name of the field that identifies a resource among all others, contained ones included. No FHIR element has an
 * underscore inside its name, so none can collide with it.
 */
export const CACHE_KEY = 'cache_key';
