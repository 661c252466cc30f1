import { FhirError, type ResourceStore } from 'fhirgraph';
import type {
  CallOptions,
  HistoryEntry,
  HistoryPage,
  ReadResult,
  ReferenceTarget,
  ResourceKey,
  SearchPage,
  SearchQuery,
  StoredResource,
  Write,
  WriteResult,
} from 'fhirgraph/store';
import {
  assertNotAborted,
  assertPutMatchesKey,
  cutPage,
  expectationFailed,
  type FhirModel,
  jsonText,
  nextInstant,
  pageOf,
  parseJsonText,
  R4,
  type SearchSubject,
  storeClosed,
  uniqueKeyTaken,
  matchFound,
  withVersion,
} from 'fhirgraph/store';
import { LogFile, type LoggedVersion } from './log-file.js';
import { ProjectIndex } from './project-index.js';

/**
 * A store in one text file, to show how a store is written: each commit is a line of JSON, and everything is held in memory.
 * Good for a few thousand resources.
 *
 * @example
 * const store = new JsonLinesStore('clinic.jsonl');
 */
export class JsonLinesStore implements ResourceStore {
  readonly model: FhirModel;
  readonly #projects = new Map<string, ProjectIndex>();
  readonly #log: LogFile;
  #closed = false;

  /** @param model the definitions by which resources are indexed; default: FHIR R4 */
  constructor(path: string, model: FhirModel = R4) {
    this.model = model;
    this.#log = new LogFile(path, (commit) => {
      for (const version of commit) this.#project(version.project).add(version);
    });
  }

  async read(keys: readonly ResourceKey[], options?: CallOptions): Promise<readonly ReadResult[]> {
    this.#assertUsable(options);
    return keys.map(({ project, type, id, version }): ReadResult => {
      const versions = this.#project(project).get(type, id)?.versions ?? [];
      const found = version === undefined ? versions.at(-1) : versions.find(({ versionId }) => versionId === version);
      if (found === undefined) return { status: 'missing' };
      return found.resource === undefined
        ? { status: 'gone', versionId: found.versionId, lastUpdated: instantOf(found) }
        : { status: 'found', ...storedOf(found) };
    });
  }

  async search(query: SearchQuery, options?: CallOptions): Promise<SearchPage> {
    this.#assertUsable(options);
    return this.#page(query, this.#project(query.project).search(query));
  }

  async searchByReference(
    query: SearchQuery,
    parameter: string,
    targets: readonly ReferenceTarget[],
    options?: CallOptions,
  ): Promise<readonly SearchPage[]> {
    this.#assertUsable(options);
    const project = this.#project(query.project);
    return targets.map((target) =>
      this.#page(query, project.search(query, project.referencing(query.type, parameter, target))),
    );
  }

  async commit(writes: readonly Write[], options?: CallOptions): Promise<readonly WriteResult[]> {
    this.#assertUsable(options);
    const made: LoggedVersion[] = [];
    const takeBack: (() => void)[] = [];
    const add = (version: LoggedVersion): void => {
      takeBack.push(this.#project(version.project).add(version));
      made.push(version);
    };
    // Nothing awaits between here and the log, so no call ever sees half of a commit, or one that is not on disk.
    try {
      const results = writes.map((write, index) => this.#apply(write, index, add));
      if (made.length > 0) this.#log.append(made);
      return results;
    } catch (error) {
      for (const undo of takeBack.reverse()) undo();
      throw error;
    }
  }

  async history(
    { project, type, id }: ResourceKey,
    page: { readonly offset: number; readonly limit: number },
    options?: CallOptions,
  ): Promise<HistoryPage> {
    this.#assertUsable(options);
    const { offset, limit = 0 } = pageOf(page);
    const versions = this.#project(project).get(type, id)?.versions ?? [];
    const entries = versions
      .toReversed()
      .slice(offset, offset + limit)
      .map(historyEntry);
    return { entries, total: versions.length };
  }

  async close(): Promise<void> {
    if (!this.#closed) this.#log.close();
    this.#closed = true;
  }

  #apply(write: Write, index: number, add: (version: LoggedVersion) => void): WriteResult {
    if (write.kind === 'assert-no-match') {
      const [match] = this.#project(write.query.project).search(write.query);
      if (match !== undefined) throw matchFound(index, `${match.type}/${match.id}`);
      return { kind: 'assert-no-match' };
    }
    // It has no `removal`, so nobody should ask.
    if (write.kind === 'erase') throw new FhirError('unsupported', 'This store erases nothing', { details: { index } });
    if (write.kind === 'put') assertPutMatchesKey(write, index);
    const { project, type, id } = write.key;
    const versions = this.#project(project).get(type, id)?.versions ?? [];
    const last = versions.at(-1);
    const current = last?.resource === undefined ? null : last.versionId;
    if (write.expect !== undefined && write.expect.version !== current) {
      throw expectationFailed(index, write.key, write.expect, current);
    }
    const updated = nextInstant(Date.now(), last?.updated);
    const version = { project, type, id, versionId: String(versions.length + 1), updated };
    if (write.kind === 'delete') {
      if (current === null) return { kind: 'delete', versionId: null };
      add(version);
      return { kind: 'delete', versionId: version.versionId };
    }
    const unique = [...(write.unique ?? [])];
    for (const text of unique) {
      const holder = this.#project(project).holderOf(text);
      if (holder !== undefined && holder !== `${type}/${id}`) throw uniqueKeyTaken(index, write.key, holder);
    }
    // What JSON keeps of it is what will be read again after a restart.
    const text = jsonText(withVersion(write.resource, version.versionId, instantOf(version)));
    const logged = { ...version, resource: parseJsonText(text), unique };
    add(logged);
    return { kind: 'put', created: current === null, ...storedOf(logged) };
  }

  #page(query: SearchQuery, matching: readonly SearchSubject[]): SearchPage {
    const project = this.#project(query.project);
    const matches = cutPage(R4, matching, query).map(({ type, id }) =>
      storedOf(project.get(type, id)!.versions.at(-1)!),
    );
    return query.total === true ? { matches, total: matching.length } : { matches };
  }

  #project(name: string): ProjectIndex {
    let project = this.#projects.get(name);
    if (project === undefined) this.#projects.set(name, (project = new ProjectIndex()));
    return project;
  }

  #assertUsable(options: CallOptions | undefined): void {
    if (this.#closed) throw storeClosed();
    assertNotAborted(options);
  }
}

function storedOf(version: LoggedVersion): StoredResource {
  return { versionId: version.versionId, lastUpdated: instantOf(version), resource: version.resource! };
}

function historyEntry(version: LoggedVersion): HistoryEntry {
  if (version.resource !== undefined) return { kind: 'put', ...storedOf(version) };
  return { kind: 'delete', versionId: version.versionId, lastUpdated: instantOf(version) };
}

function instantOf({ updated }: Pick<LoggedVersion, 'updated'>): string {
  return new Date(updated).toISOString();
}
