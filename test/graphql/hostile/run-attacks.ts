// Runs the whole corpus in its own process with a limit on its heap. It prints one line of JSON per attack.
// Argument: a part of the names to send, if not all.
import { readFileSync, writeFileSync } from 'node:fs';
import type { Dialect } from '../../../src/index.js';
import { expectedOutcome, outcomeOf, send } from './attack.js';
import { HOSTILE_DOCUMENTS } from './corpus.js';
import type { HostileDocument, Outcome } from './hostile-document.js';
import { openHostileClinic } from './hostile-clinic.js';

/** The measurements of one attack. */
export interface AttackReport {
  readonly name: string;
  readonly dialect: Dialect;
  readonly outcome: Outcome;
  readonly expected: Outcome;
  /** The limit that refused it, if the error names it. */
  readonly limit: unknown;
  /** Peak memory above the memory of the process before the attack, in MB; null if the system does not report it. */
  readonly memory: number | null;
  /** Milliseconds until the answer. */
  readonly time: number;
}

const [part = ''] = process.argv.slice(2);
const store = await openHostileClinic();
await warmUp();
/** Bytes of the heap when it was last collected. */
let collected = 0;
for (const dialect of ['standard', 'hl7'] as const) {
  for (const attack of HOSTILE_DOCUMENTS) {
    if (attack.name.includes(part)) console.log(JSON.stringify(await report(attack, dialect)));
  }
}

async function report(attack: HostileDocument, dialect: Dialect): Promise<AttackReport> {
  const request = attack.make();
  const before = startMemory();
  const start = performance.now();
  const result = await send(request, dialect, store);
  const time = performance.now() - start;
  const peak = residentMemory('VmHWM');
  const details = result.errors?.[0]?.extensions.details;
  return {
    name: attack.name,
    dialect,
    outcome: outcomeOf(result),
    expected: expectedOutcome(attack, dialect),
    limit: details?.['limit'],
    memory: before === null || peak === null ? null : peak - before,
    time,
  };
}

/** Structures that are built on first use are not part of the attack: the schemas, the FHIRPath library. */
async function warmUp(): Promise<void> {
  const everyday = '{ PatientList(_count: 1, fhirpath: "name.given.aggregate(1, 2) = 1") { id name { family } } }';
  const introspection = '{ __schema { queryType { name } types { name fields { name } } } }';
  for (const dialect of ['standard', 'hl7'] as const) {
    await send({ query: everyday }, dialect, store);
    await send({ query: introspection }, dialect, store);
  }
}

/** Collects the garbage of earlier attacks if it is large, because that takes long, and resets the peak. */
function startMemory(): number | null {
  if (process.memoryUsage().heapUsed > collected + 30_000_000) {
    globalThis.gc?.();
    collected = process.memoryUsage().heapUsed;
  }
  try {
    writeFileSync('/proc/self/clear_refs', '5');
  } catch {
    return null;
  }
  return residentMemory('VmRSS');
}

/** In MB; null where there is no such file. */
function residentMemory(name: 'VmRSS' | 'VmHWM'): number | null {
  try {
    const found = new RegExp(`${name}:\\s*(\\d+) kB`).exec(readFileSync('/proc/self/status', 'utf8'));
    return found === null ? null : Number(found[1]) / 1024;
  } catch {
    return null;
  }
}
