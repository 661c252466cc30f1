import { R4 } from '../../src/store.js';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { validateResource } from '../../src/fhir/validate-resource.js';
import { hasShared, SHARED, sharedJson, syntheaBundles } from '../support/shared.js';

/** Kinds of findings: code, place without indexes. */
function kindsOfFindings(resource: unknown): string[] {
  const issues = validateResource(R4, resource, {
    strict: true,
    maxIssues: 10_000,
    maxBytes: 100_000_000,
    maxValues: Infinity,
  });
  const kinds = issues.map((issue) => `${issue.code} ${issue.expression?.[0]?.replaceAll(/\[\d+\]/g, '')}`);
  return [...new Set(kinds)];
}

describe('strict validation of real data', () => {
  it('finds nothing in the Synthea bundles', () => {
    const bundles = syntheaBundles();
    expect(bundles).toHaveLength(hasShared ? 26 : 5);
    expect(bundles.flatMap(kindsOfFindings)).toEqual([]);
  });

  it('finds nothing in the resources of the corpus', () => {
    expect(kindsOfFindings(sharedJson('corpus/supplement.json'))).toEqual([]);
  });

  it("finds in HL7's GraphQL resources only the remains of an older JSON format", () => {
    const names = readdirSync(join(SHARED, 'hl7-graphql/resources')).sort();
    const findings = names.flatMap((name) =>
      kindsOfFindings(sharedJson(`hl7-graphql/resources/${name}`)).map((kind) => `${name}: ${kind}`),
    );
    // DSTU2 wrote XML comments as `fhir_comments`; here numbers are texts as well.
    const unexpected = findings.filter(
      (kind) => !kind.endsWith('.fhir_comments') && !/ value \S+\.(value|period|ofType\(decimal\))$/.test(kind),
    );
    expect(unexpected).toEqual([]);
    if (!hasShared) return;
    expect(findings).toContain('patient-example.json: structure Patient.name.fhir_comments');
    expect(findings).toContain('observation-example.json: value Observation.value.ofType(Quantity).value');
  });
});
