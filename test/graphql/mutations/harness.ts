import {
  type Caller,
  executeFhirGraphql,
  type FhirGraphqlContext,
  type FhirGraphqlResult,
  type Repository,
  type ResourceStore,
  systemCaller,
} from '../../../src/index.js';
import { system } from '../../repository/harness.js';
import type { Variables } from '../harness.js';

/** A project to write into, and its contents afterwards. */
export interface Clinic {
  readonly store: ResourceStore;
  readonly trusted: Repository;
  /** Executes a mutation, as trusted code unless `more` names a caller. */
  ask(mutation: string, variables?: Variables, more?: Partial<FhirGraphqlContext>): Promise<FhirGraphqlResult>;
  /** The data of a mutation that must not fail in any part. */
  data(mutation: string, variables?: Variables, more?: Partial<FhirGraphqlContext>): Promise<unknown>;
  /** The ids of all resources of a type. */
  ids(type: 'Patient' | 'Observation'): Promise<string[]>;
}

export async function openClinic(store: ResourceStore, options: { strictMode?: boolean } = {}): Promise<Clinic> {
  const trusted = await system(store, 'clinic', options);
  const caller: Caller = systemCaller('clinic');
  const clinic: Clinic = {
    store,
    trusted,
    ask: (mutation, variables, more) => executeFhirGraphql(mutation, { store, caller, variables, ...more }),
    async data(mutation, variables, more) {
      const result = await clinic.ask(mutation, variables, more);
      if (result.errors !== undefined) throw new Error(`The mutation failed: ${JSON.stringify(result.errors)}`);
      return result.data;
    },
    async ids(type) {
      const { entry = [] } = await trusted.search(type, '_count=1000');
      return entry.map(({ resource }) => resource!.id);
    },
  };
  return clinic;
}
