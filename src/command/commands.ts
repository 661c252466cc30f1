import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Project } from '@medplum/fhirtypes';
import { serverCaller } from '../access/caller.js';
import { checkPolicies } from '../access/explain/check-policies.js';
import { FhirError } from '../fhir/error.js';
import { parseReference } from '../fhir/reference.js';
import { importNdjson } from '../import/ndjson/import-ndjson.js';
import { erasePatient, type PatientErasureContext } from '../projects/erasure/erase-patient.js';
import { eraseResource } from '../projects/erasure/erase-resource.js';
import { ERASURE_REASONS, type ErasureReason } from '../projects/erasure/erasure-session.js';
import { exportProject } from '../projects/project/export-project.js';
import { ALL } from '../search/criteria/criteria.js';
import { everyMatch } from '../store/every-page.js';
import { SERVER_SCOPE } from '../store/resource-key.js';
import { SqliteStore } from '../stores/sqlite/store.js';
import {
  type Command,
  type CommandOption,
  type CommandReport,
  type CommandWork,
  textOf,
  UsageError,
} from './command.js';

const PROJECT: CommandOption = { type: 'string', value: '<id>', about: 'the project' };
const ONE_PROJECT: CommandOption = { ...PROJECT, required: true };
const AUDIT_LOG: CommandOption = { type: 'boolean', about: 'write a record to the audit log of the database' };

const info: Command = {
  summary: 'show the projects, and what is left to index; with --project, its resources by type',
  operands: [],
  options: { project: PROJECT },
  opening: 'reader',
  async run({ store, options, signal }) {
    const hasSameDefinitions = await store.hasSameDefinitions();
    const kind = store instanceof SqliteStore ? 'sqlite' : 'postgres';
    const projects: object[] = [];
    const lines = [`${kind}, written with ${hasSameDefinitions ? 'these' : 'other'} definitions`];
    const pages = everyMatch(PAGE, (page, budget) =>
      store.search({ project: SERVER_SCOPE, type: 'Project', criteria: ALL, ...page }, { budget, signal }),
    );
    const asked = textOf(options, 'project');
    for await (const { resource } of pages) {
      const { id = '', name = '', active = true } = resource as Project & { readonly active?: boolean };
      if (asked !== undefined && asked !== id) continue;
      const pending = (await store.pendingParameters(id, { signal })).length;
      const types = asked === undefined ? undefined : await countTypes(id, store, signal);
      projects.push({ id, name, active, pending, ...(types && { types }) });
      const state = `${active ? '' : ', inactive'}${pending === 0 ? '' : `, ${pending} parameters to index`}`;
      lines.push(`${id}  ${name}${state}`, ...Object.entries(types ?? {}).map(([type, n]) => `  ${type}  ${n}`));
    }
    if (asked !== undefined && projects.length === 0) throw new FhirError('not-found', `There is no project ${asked}`);
    return { isRight: true, json: { kind, hasSameDefinitions, projects }, lines };
  },
};

const PAGE = 200;

async function countTypes(
  project: string,
  store: CommandWork['store'],
  signal: AbortSignal,
): Promise<{ readonly [type: string]: number }> {
  const counts: [string, number][] = [];
  for (const type of store.model.resourceTypes) {
    const query = { project, type, criteria: ALL, limit: 0, total: true };
    const { total = 0 } = await store.search(query, { signal });
    if (total > 0) counts.push([type, total]);
  }
  return Object.fromEntries(counts);
}

const verify: Command = {
  summary: 'check the whole database: file, versions, index; it only reads',
  operands: [],
  options: {},
  opening: 'reader',
  needsDefinitions: true,
  async run({ store, signal, progress }) {
    progress('verifying every resource');
    const { resources, problems } = await store.verify({ signal });
    const isRight = problems.length === 0;
    const end = `${resources} resources, ${isRight ? 'no problems' : `${problems.length} problems`}`;
    return { isRight, json: { resources, problems }, lines: [...problems, end] };
  },
};

const backup: Command = {
  summary: 'copy a SQLite database to a new file, while services use it',
  operands: ['file'],
  options: {},
  opening: 'reader',
  async run({ store, operands: [file = ''], signal, progress }) {
    if (!(store instanceof SqliteStore)) throw new UsageError('A PostgreSQL database is backed up with pg_dump');
    progress('copying');
    await store.backup(file, { signal });
    return { isRight: true, json: { file }, lines: [`backed up to ${file}`] };
  },
};

const reindex: Command = {
  summary: 'rebuild the index from the resources: all of it, or a part',
  operands: [],
  options: {
    project: PROJECT,
    pending: { type: 'boolean', about: 'only what other definitions or an older version left behind' },
    'take-over': { type: 'boolean', about: 'migrate the database, and index it with these definitions from now on' },
  },
  opening: 'user',
  needsDefinitions: true,
  async run({ store, options, signal, progress }) {
    const resources = await store.reindex({
      project: textOf(options, 'project'),
      pendingOnly: options['pending'] === true,
      signal,
      onProgress: ({ project, type, done, total }) => progress(`${project} ${type} ${done} of ${total}`),
    });
    return { isRight: true, json: { resources }, lines: [`${resources} resources indexed`] };
  },
};

const policies: Command = {
  summary: 'find access policies and memberships that this version does not understand',
  operands: [],
  options: { project: PROJECT },
  opening: 'reader',
  needsDefinitions: true,
  async run({ store, options, signal, progress }) {
    const findings: object[] = [];
    const lines: string[] = [];
    let isRight = true;
    for await (const finding of checkPolicies({ project: textOf(options, 'project') }, { store, signal })) {
      findings.push(finding);
      progress(`${findings.length} findings`);
      for (const { severity, path, message } of finding.problems) {
        if (severity === 'error') isRight = false;
        lines.push(`${finding.project} ${finding.resource} ${severity} ${path}: ${message}`);
      }
    }
    return { isRight, json: { findings }, lines: [...lines, `${findings.length} findings`] };
  },
};

const importing: Command = {
  summary: 'put the resources of an NDJSON file, or of the standard input (-), into a project',
  operands: ['file'],
  options: {
    project: ONE_PROJECT,
    deletions: { type: 'boolean', about: 'follow the deletions in an export with --history' },
    create: { type: 'boolean', about: 'create the database if it is missing or empty' },
    'audit-log': AUDIT_LOG,
  },
  opening: 'user',
  async run({ store, operands: [file = ''], options, signal, audited, progress }) {
    const source: Readable = file === STANDARD ? process.stdin : createReadStream(file);
    const result = await importNdjson(source, {
      store,
      caller: serverCaller(textOf(options, 'project')),
      deletions: options['deletions'] === true,
      signal,
      ...audited,
      onProgress: ({ imported, failed }) => progress(`${imported} resources imported, ${failed} bad lines`),
    });
    const { imported, created, updated, unchanged, failed, errors } = result;
    const bad = errors.map(({ line, reason }) => `line ${line}: ${reason.code}: ${reason.message}`);
    const end = `${imported} resources: ${created} created, ${updated} updated, ${unchanged} unchanged; ${failed} bad lines`;
    return { isRight: failed === 0, json: result, lines: [...bad, end] };
  },
};

/** The name of the standard input and output. */
const STANDARD = '-';

const exporting: Command = {
  summary: 'write a project as NDJSON to a new file, or to the standard output (-)',
  operands: ['file'],
  options: {
    project: ONE_PROJECT,
    history: { type: 'boolean', about: 'earlier versions and deleted resources too' },
    'audit-log': AUDIT_LOG,
  },
  opening: 'reader',
  async run({ store, operands: [file = ''], options, signal, audited, progress }) {
    const context = { store, caller: serverCaller(), history: options['history'] === true, signal, ...audited };
    let resources = 0;
    const lines = async function* (): AsyncGenerator<string> {
      for await (const line of exportProject(textOf(options, 'project')!, context)) {
        resources += 1;
        progress(`${resources} resources exported`);
        yield line;
      }
    };
    if (file === STANDARD) await pipeline(lines, process.stdout, { signal, end: false });
    else await writeNewFile(file, (target) => pipeline(lines, target, { signal }));
    const report: CommandReport = { isRight: true, json: { resources }, lines: [`${resources} resources exported`] };
    return { ...report, isAside: file === STANDARD };
  },
};

/** A file appears when it is complete. It holds clinical data, so it is for its owner only. */
async function writeNewFile(file: string, write: (target: Writable) => Promise<void>): Promise<void> {
  const partial = `${file}.partial`;
  if (existsSync(file)) throw new FhirError('conflict', 'The file exists; an export replaces nothing');
  const target = createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true });
  try {
    await write(target);
    await rename(partial, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await rm(partial, { force: true });
    throw error;
  }
}

const erase: Command = {
  summary: 'remove a resource for good, with all its versions',
  operands: ['resource'],
  options: {
    project: ONE_PROJECT,
    reason: { type: 'string', value: '<reason>', required: true, about: ERASURE_REASONS.join(', ') },
    record: { type: 'boolean', about: 'a Patient with everything in its compartment' },
    'dry-run': { type: 'boolean', about: 'with --record: only list what would be erased and kept' },
    'audit-log': AUDIT_LOG,
  },
  opening: 'user',
  async run({ store, operands: [resource = ''], options, signal, audited }) {
    const target = parseReference(resource);
    if (target?.kind !== 'local' || target.version !== undefined) {
      throw new UsageError('The resource is named as Type/id, such as Patient/1');
    }
    const { record = false, 'dry-run': dryRun = false } = options;
    if (record && target.type !== 'Patient') throw new UsageError('--record erases the record of a Patient');
    if (dryRun && !record) throw new UsageError('--dry-run goes with --record');
    const reason = textOf(options, 'reason') as ErasureReason;
    const context = { store, caller: serverCaller(textOf(options, 'project')), reason, signal, ...audited };
    if (record) return eraseRecord(target.id, { ...context, dryRun: dryRun === true });
    const erased = await eraseResource(target.type as 'Patient', target.id, context);
    return { isRight: true, json: erased, lines: [`${erased.resource}: ${erased.versions} versions erased`] };
  },
};

async function eraseRecord(id: string, context: PatientErasureContext): Promise<CommandReport> {
  const report = await erasePatient(id, context);
  const { erased, kept, versions } = report;
  const did = context.dryRun === true ? 'would be erased' : `erased, ${versions} versions`;
  return {
    isRight: true,
    json: report,
    lines: [
      ...erased,
      ...kept.map(({ resource, because }) => `kept ${resource}: ${because}`),
      `${erased.length} resources ${did}; ${kept.length} kept`,
    ],
  };
}

/** The commands by their names. */
export const COMMANDS: { readonly [name: string]: Command } = {
  info,
  verify,
  backup,
  reindex,
  'check-policies': policies,
  import: importing,
  export: exporting,
  erase,
};
