import type { ObjectRule } from './rule.js';

/** ext-1: an extension has either a value or extensions of its own. See https://hl7.org/fhir/R4/extensibility.html. */
export const extensionRule: ObjectRule = (extension, walk) => {
  const hasValue = Object.keys(extension).some((name) => /^_?value./.test(name) && extension[name] !== undefined);
  if (hasValue !== (extension.extension !== undefined)) return;
  walk.findings.error('invariant', 'an extension must have either a value[x] or extensions, and not both (ext-1)');
};
