import type { OperationOutcome } from './error.js';

/** Resources that read like settings of the service, and are data as all others. */
const WITHOUT_EFFECT: ReadonlyMap<string, string> = new Map([
  [
    'SearchParameter',
    'A SearchParameter in a project has no effect on searches: parameters come from the definitions of the service',
  ],
  [
    'Subscription',
    'A Subscription has an effect from when the service sets its status to active; a service without notifications never does',
  ],
]);

/** What a writer of this resource type should know. */
export function writeWarning(type: string): string | undefined {
  return WITHOUT_EFFECT.get(type);
}

/** The same as an OperationOutcome that reports no error. */
export function writeWarningOutcome(type: string): OperationOutcome | undefined {
  const text = writeWarning(type);
  if (text === undefined) return undefined;
  return {
    resourceType: 'OperationOutcome',
    issue: [{ severity: 'warning', code: 'informational', details: { text } }],
  };
}
