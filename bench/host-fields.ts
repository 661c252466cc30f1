/**
 * Measures the cost of host fields for queries that do not use them: the ratio of CPU time with the fields to CPU time
 * without them, the median of rounds interleaved in one process. `npx tsx bench/host-fields.ts`
 */
import { createFhirGraphql, importBundle, MemoryStore, systemCaller, type HostFields } from 'fhirgraph';
import { loadData } from './data.js';
import { QUERIES } from './queries.js';

const ROUNDS = 60;
const caller = systemCaller('clinic');
const store = new MemoryStore();
for (const bundle of loadData(undefined, 60).bundles)
  await importBundle(JSON.parse(bundle) as never, { store, caller });

const own = (names: readonly string[]): HostFields =>
  Object.fromEntries(
    names.map((type) => [
      type,
      { own: { type: 'Float', needs: '*', resolve: (all: readonly object[]) => all.map(() => 1) } },
    ]),
  );
const services = [
  createFhirGraphql({ store }),
  createFhirGraphql({ store, fields: own(['Patient', 'Observation', 'Encounter', 'DiagnosticReport', 'HumanName']) }),
];
const [first] = (await services[0]!.execute('{ PatientList(_count: 1) { id } }', { caller })).data!['PatientList'] as [
  { id: string },
];
for (const { what, text } of QUERIES) {
  const ratios: number[] = [];
  for (let round = -10; round < ROUNDS; round += 1) {
    const used = [0, 0];
    for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
      const start = process.cpuUsage();
      for (let time = 0; time < 8; time += 1) {
        const { errors } = await services[at]!.execute(text, {
          caller,
          variables: { patient: first.id, gender: 'female' },
        });
        if (errors !== undefined) throw new Error(JSON.stringify(errors));
      }
      const { user, system } = process.cpuUsage(start);
      used[at] = user + system;
    }
    if (round >= 0) ratios.push(used[1]! / used[0]!);
  }
  console.log(`${ratios.sort((a, b) => a - b)[ROUNDS / 2]!.toFixed(2)}  ${what}`);
}
