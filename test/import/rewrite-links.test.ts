import { R4 } from '../../src/store.js';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rewriteLinks } from '../../src/import/links/rewrite-links.js';

const resource = fc
  .dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 }))
  .map((elements) => ({ ...elements, resourceType: 'Basic' }));

test('without a replacement the same resource object is returned', () => {
  fc.assert(
    fc.property(resource, (one) => {
      expect(rewriteLinks(R4, one, () => undefined)).toBe(one);
    }),
  );
});

test('a replaced reference changes a copy, only along its path', () => {
  const deep = Object.freeze({
    resourceType: 'Basic',
    subject: Object.freeze({ reference: 'a' }),
    extension: Object.freeze([Object.freeze({ url: 'x', valueReference: Object.freeze({ reference: 'b' }) })]),
  });
  const rewritten = rewriteLinks<typeof deep>(R4, deep, (link) => (link === 'a' ? 'A' : undefined));
  expect(rewritten).toEqual({ ...deep, subject: { reference: 'A' } });
  expect(rewritten.extension).toBe(deep.extension);
});

test('a narrative of unclosed tags is scanned once, not once per tag', () => {
  const div = '<a href '.repeat(200_000) + '<a '.repeat(200_000) + ' href'.repeat(200_000);
  const one = { resourceType: 'Basic', text: { status: 'generated', div } };
  expect(rewriteLinks(R4, one, () => 'x')).toBe(one);
});

test('arrays of primitives are rewritten by the type of their element', () => {
  const one = {
    resourceType: 'StructureDefinition',
    // Of type canonical, so left alone; `instantiates` of a CapabilityStatement likewise.
    context: [{ type: 'element', expression: 'urn:x' }],
    contained: [{ resourceType: 'MessageHeader', source: { endpoint: 'urn:x' }, eventUri: 'urn:x' }],
  };
  const rewritten = rewriteLinks(R4, one, (link) => (link === 'urn:x' ? 'Basic/1' : undefined));
  expect(rewritten).toEqual({
    ...one,
    contained: [{ resourceType: 'MessageHeader', source: { endpoint: 'Basic/1' }, eventUri: 'Basic/1' }],
  });
  const plan = { resourceType: 'CarePlan', instantiatesUri: ['urn:x', 'urn:y'], instantiatesCanonical: ['urn:x'] };
  expect(rewriteLinks(R4, plan, (link) => (link === 'urn:x' ? 'Basic/1' : undefined))).toEqual({
    resourceType: 'CarePlan',
    instantiatesUri: ['Basic/1', 'urn:y'],
    instantiatesCanonical: ['urn:x'],
  });
});
