// What the playground loads: the engine over a store in memory, and sample data.
import {
  executeFhirGraphql,
  importBundle,
  type Limits,
  MemoryStore,
  type ResourceStore,
  systemCaller,
} from 'fhirgraph';
import { examples, PICK } from '../../examples/quickstart/queries.js';
import { generateSample } from '../../examples/sample-data.js';

export interface Request {
  readonly query: string;
  readonly variables?: Record<string, unknown>;
  readonly focus?: string;
  readonly limits?: Partial<Limits>;
}

/** Runs queries over one set of resources. */
export interface Engine {
  run(request: Request): Promise<object>;
}

const caller = systemCaller('clinic');

/** The data of a page. Each run has data of its own, so mutations change nothing for the next one. */
export function engineOver(resources: readonly { readonly resourceType: string; readonly id?: string }[]): Engine {
  return {
    async run(request) {
      const store = new MemoryStore();
      const entry = resources.map((resource) => ({
        resource,
        request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
      }));
      await importBundle({ resourceType: 'Bundle', type: 'transaction', entry }, { store, caller });
      return execute(store, request);
    },
  };
}

/** Generated patients, and queries about one of them. */
export async function openSample(
  patients: number,
): Promise<Engine & { readonly examples: ReturnType<typeof examples> }> {
  const store = new MemoryStore();
  for (const bundle of generateSample({ patients })) await importBundle(bundle, { store, caller });
  const { data } = await executeFhirGraphql<{ PatientList: readonly { id: string }[] }>(PICK, { store, caller });
  return { examples: examples(data!.PatientList[0]!.id), run: (request) => execute(store, request) };
}

function execute(store: ResourceStore, { query, variables, focus, limits }: Request): Promise<object> {
  return executeFhirGraphql(query, {
    store,
    caller,
    ...(variables === undefined ? {} : { variables }),
    ...(focus === undefined ? {} : { focus }),
    ...(limits === undefined ? {} : { limits }),
  });
}
