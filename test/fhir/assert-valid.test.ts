import { FhirError } from '../../src/index.js';
import { R4 } from '../../src/store.js';
import { describe, expect, it } from 'vitest';
import { assertValidResource, type ValidationOptions } from '../../src/fhir/validate-resource.js';

function refusal(resource: unknown, options: ValidationOptions = {}): FhirError | undefined {
  try {
    assertValidResource(R4, resource, options);
  } catch (error) {
    if (error instanceof FhirError) return error;
    throw error;
  }
  return undefined;
}

describe('assertValidResource', () => {
  it('refuses resources that no store can keep as invalid, with every reason', () => {
    for (const strict of [false, true]) {
      const error = refusal({ resourceType: 'Patient', id: '/', meta: 1, gender: 'x' }, { strict });
      expect(error).toMatchObject({ code: 'invalid', status: 400 });
      expect(error!.issues.map((issue) => issue.expression)).toEqual([['Patient.id'], ['Patient.meta']]);
      expect(error!.message).toBe(
        'The resource cannot be stored: id must be 1 to 64 letters, digits, hyphens and full stops at Patient.id (and 1 more)',
      );
    }
  });

  it('refuses resources that break the definitions as unprocessable, only with strict', () => {
    const resource = { resourceType: 'Patient', gender: 'x', nickname: 'y' };
    expect(refusal(resource)).toBeUndefined();
    const error = refusal(resource, { strict: true });
    expect(error).toMatchObject({ code: 'unprocessable', status: 422 });
    expect(error!.outcome.issue).toEqual([
      {
        severity: 'error',
        code: 'code-invalid',
        details: { text: 'gender must be one of male, female, other, unknown' },
        expression: ['Patient.gender'],
      },
      {
        severity: 'error',
        code: 'structure',
        details: { text: 'Patient has no element of this name' },
        expression: ['Patient.nickname'],
      },
    ]);
  });

  it('accepts warnings, and reports them with errors', () => {
    const contained = [{ resourceType: 'Organization', id: 'o', name: 'O' }];
    expect(refusal({ resourceType: 'Patient', contained }, { strict: true })).toBeUndefined();
    const error = refusal({ resourceType: 'Patient', contained, gender: 'x' }, { strict: true });
    expect(error!.issues.map((issue) => issue.severity ?? 'error')).toEqual(['error', 'warning']);
  });

  it('passes limits on', () => {
    expect(refusal({ resourceType: 'Patient' }, { maxBytes: 10 })).toMatchObject({ code: 'too-costly' });
    expect(refusal({ resourceType: 'Patient' }, { maxBytes: 26 })).toBeUndefined();
    expect(refusal({ resourceType: 'Patient' }, { maxValues: 1 })).toMatchObject({ code: 'too-costly' });
    expect(refusal({ resourceType: 'Patient' }, { maxValues: 2 })).toBeUndefined();
  });
});
