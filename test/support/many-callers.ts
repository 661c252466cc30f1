import type { Bundle, Patient } from '@medplum/fhirtypes';
import { createRepository, FhirError, type ResourceStore, systemCaller } from '../../src/index.js';
import { below, createRandom, oneOf } from './kit.js';
import type { Operation } from './linearizability.js';

/** The calls of the callers, and the number of calls that were refused because others came first. */
export interface CallerHistory {
  readonly operations: readonly Operation[];
  readonly overtaken: number;
}

interface Callers {
  readonly callers: number;
  /** Number of calls per caller. */
  readonly calls: number;
  readonly resources: number;
  readonly seed: number;
  /** Distinguishes the names and values of one process from those of another. */
  readonly name?: string;
}

/**
 * Lets many callers read, create, update, patch and delete a few resources, alone and in transactions of two, with and
 * without `ifMatch`, concurrently, with a few awaits of random length in between.
 */
export async function runManyCallers(
  store: ResourceStore,
  { callers, calls, resources, seed, name = '' }: Callers,
): Promise<CallerHistory> {
  const operations: Operation[] = [];
  let overtaken = 0;
  const now = (): number => Number(process.hrtime.bigint());
  const run = async (caller: number): Promise<void> => {
    const random = createRandom(seed * 1_000 + caller);
    const repository = createRepository({ store, caller: systemCaller('clinic') });
    const seen = new Map<string, number>();
    for (let call = 0; call < calls; call++) {
      const id = `r${below(resources, random)}`;
      const value = `${name}${caller}-${call}`;
      const patient = (key: string): Patient => ({ resourceType: 'Patient', id: key, language: value });
      const named = random() < 0.6 && (seen.get(id) ?? 0) > 0 ? seen.get(id)! : undefined;
      const ifMatch = named === undefined ? undefined : `W/"${named}"`;
      const start = now();
      const wrote = (key: string, version: number, content: string | null, expected?: number): void => {
        seen.set(key, version);
        operations.push({ kind: 'write', key, version, value: content, start, end: now(), expected });
      };
      const didRead = (key: string, version: number, content: string | null): void => {
        seen.set(key, version);
        operations.push({ kind: 'read', key, version, value: content, start, end: now() });
      };
      try {
        const choice = random();
        if (choice < 0.35) {
          const [found] = await store.read([{ project: 'clinic', type: 'Patient', id }]);
          const version = found!.status === 'missing' ? 0 : Number(found!.versionId);
          didRead(id, version, found!.status === 'found' ? (found!.resource as Patient).language! : null);
        } else if (choice < 0.65) {
          const { meta } = await repository.update(patient(id), { ifMatch });
          wrote(id, Number(meta.versionId), value, named);
        } else if (choice < 0.75) {
          const operation = { op: 'add', path: '/language', value } as const;
          const { meta } = await repository.patch('Patient', id, [operation], { ifMatch });
          wrote(id, Number(meta.versionId), value, named);
        } else if (choice < 0.8 && named !== undefined) {
          await repository.delete('Patient', id, { ifMatch });
          wrote(id, named + 1, null, named);
        } else {
          const other = `r${(Number(id.slice(1)) + 1) % resources}`;
          const { entry } = await repository.transaction(transactionOf([patient(id), patient(other)], ifMatch));
          entry!.forEach(({ response }, index) => {
            const version = Number(/"(\d+)"/.exec(response!.etag!)![1]);
            wrote([id, other][index]!, version, value, index === 0 ? named : undefined);
          });
        }
      } catch (error) {
        if (!(error instanceof FhirError) || !EXPECTED.has(error.code)) throw error;
        overtaken += 1;
        seen.delete(id);
      }
      for (let turns = below(4, random); turns > 0; turns--) await oneOf(WAITS, random)();
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => run(caller)));
  return { operations, overtaken };
}

/** Error codes of a call that lost against another. */
const EXPECTED: ReadonlySet<string> = new Set(['precondition-failed', 'conflict', 'gone', 'not-found', 'unavailable']);

const WAITS: readonly (() => Promise<unknown>)[] = [
  () => Promise.resolve(),
  () => new Promise((resolve) => setImmediate(resolve)),
];

function transactionOf(patients: readonly Patient[], ifMatch: string | undefined): Bundle {
  return {
    resourceType: 'Bundle',
    type: 'transaction',
    entry: patients.map((resource, index) => ({
      resource,
      request: {
        method: 'PUT',
        url: `Patient/${resource.id!}`,
        ...(index === 0 && ifMatch !== undefined ? { ifMatch } : {}),
      },
    })),
  };
}
