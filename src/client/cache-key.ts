/**
 * Name of the field that tells a resource apart from all others, contained ones included. No FHIR element has an underscore
 * inside its name, so none can ever collide with it.
 */
export const CACHE_KEY = 'cache_key';
