/**
 * The response key of the type of an object behind an interface. It has a file of its own, because an import of
 * `forwarded-document.ts` also loads the validation of graphql-js.
 */
export const TYPE_KEY = '_fhirgraph_type';
