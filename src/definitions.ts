// Definitions as a value: R4's own, and what a host adds to them.

export { R4 } from './fhir/r4.js';
export { extendDefinitions, type DefinitionExtensions } from './search/extend/extend-definitions.js';
