import { audited } from '../../access/operation.js';
import type { GuardedStore } from '../../access/contract.js';
import { isAboveProjects } from '../../access/fields/administrative-types.js';
import type { ResourceRef } from '../../access/sign-in/find-membership.js';
import type { AuditFacts } from '../../audit/audit.js';
import { FhirError } from '../../fhir/error.js';
import { stringifyJson } from '../../fhir/json/stringify-json.js';
import { referenceText, splitReference } from '../../fhir/reference.js';
import { elementsOf, type AnyResource } from '../../fhir/resource.js';
import { Pace } from '../../platform/pace.js';
import { ALL } from '../../search/criteria/criteria.js';
import { everyHistoryPage, everyMatch } from '../../store/every-page.js';
import type { HistoryPage, VersionRange } from '../../store/history.js';
import { ShortPage, TextBudget } from '../../store/text-budget.js';
import { openOperator, type OperatorSession, readStoredProject, requireProjectId } from '../session/operator.js';
import type { ProjectContext } from '../session/project-context.js';

/** The context of an export. */
export interface ExportContext extends ProjectContext {
  /**
   * Also export earlier versions and deleted resources, one line per version, oldest first. Default false.
   */
  readonly history?: boolean | undefined;
}

/**
 * Exports a project as NDJSON: the Project, the Users of its members, and every resource in it, a line each. Resources
 * are read page by page as you consume the lines, so memory stays bounded for any size of project.
 *
 * `importNdjson(lines, { store, caller: serverCaller(project) })` creates the same project in another store: ids and
 * references stay, and version numbers begin again. With `history`, versions come in order, and each deletion is a
 * line, which `importNdjson` follows with `deletions: true`.
 *
 * Secrets are never exported: clients need new ones after an import (`rotateClientSecret`).
 *
 * Each page shows one moment, but the whole export does not. A resource that nobody writes during the export is in it
 * exactly once. A resource that somebody writes is in it in its old or new state, and a new one may be missing. For an
 * export of one moment, deactivate the project first.
 *
 * For super administrators without access policies and `serverCaller()`. It is as slow as its reader, so `limits` do
 * not apply. The audit record is written when it ends, even if the reader gives up.
 *
 * @returns lines, each with its line feed. Reading the first line rejects with:
 * @throws FhirError `forbidden` - the caller may not export projects
 * @throws FhirError `not-found` - there is no such project
 * @throws FhirError `unsupported` - history over a store that does not list the history of a type
 *
 * @example
 * await pipeline(exportProject('clinic', { store, caller }), createGzip(), createWriteStream('clinic.ndjson.gz'));
 */
export async function* exportProject(project: ResourceRef, context: ExportContext): AsyncGenerator<string, void, void> {
  const handover = new Handover<string>();
  const recorded = audited(context, 'export-project', async (facts) => {
    try {
      for await (const line of linesOf(project, context, facts)) {
        if (!(await handover.give(line))) return;
      }
    } finally {
      handover.end();
    }
  });
  recorded.catch(() => handover.end());
  try {
    for (;;) {
      const line = await handover.take();
      if (line === undefined) break;
      yield line;
    }
  } finally {
    handover.giveUp();
    await recorded;
  }
}

async function* linesOf(project: ResourceRef, context: ExportContext, facts: AuditFacts): AsyncGenerator<string> {
  const session = await openOperator({ ...context, call: { signal: context.signal } }, 'all', 'export projects');
  const id = requireProjectId(project);
  facts.targets = [{ type: 'Project', id }];
  if (context.history === true && session.store.typeHistory === undefined) {
    throw new FhirError('unsupported', 'This store does not list the history of a type, which an export needs');
  }
  await readStoredProject(session, id);
  facts.results = 0;
  const pace = new Pace();
  for await (const resource of new ProjectExport(session, id, context.history === true).resources()) {
    // A reader that never waits would block all other work.
    if (pace.isSpent) await pace.next();
    facts.results += 1;
    yield `${stringifyJson(resource)}\n`;
  }
}

/** The content of a project, without secrets. */
class ProjectExport {
  readonly #guard: GuardedStore;
  readonly #users = new Set<string>();

  constructor(
    private readonly session: OperatorSession,
    private readonly id: string,
    private readonly withHistory: boolean,
  ) {
    this.#guard = session.guardOf(id);
  }

  async *resources(): AsyncGenerator<object> {
    yield* this.#one('Project', this.id);
    // Resources that decide access come before the data that they protect.
    for (const type of orderedTypes(this.#guard.model.resourceTypes)) {
      if (isAboveProjects(type)) continue;
      for await (const resource of this.#currentOf(type)) {
        if (type === 'ProjectMembership') yield* this.#userOf(resource);
        yield* this.withHistory ? this.#versionsOf(type, resource.id!) : [resource];
      }
      if (this.withHistory) yield* this.#deletedOf(type);
    }
  }

  /** A member's User; a client or Bot is one of the resources. */
  async *#userOf(membership: AnyResource): AsyncGenerator<object> {
    const { type, id } = splitReference(referenceText(elementsOf(membership)['user']) ?? '');
    if (type !== 'User' || this.#users.has(id)) return;
    this.#users.add(id);
    yield* this.#one('User', id);
  }

  async *#one(type: string, id: string): AsyncGenerator<object> {
    if (this.withHistory) {
      yield* this.#versionsOf(type, id);
      return;
    }
    const [found] = await this.#guard.read([{ type, id }], this.session.options);
    if (found?.status === 'found') yield found.resource;
  }

  async *#currentOf(type: string): AsyncGenerator<AnyResource> {
    const query = { type, criteria: ALL };
    const matches = everyMatch(PAGE, (page, budget) =>
      this.#guard.search({ ...query, ...page }, { ...this.session.options, budget }),
    );
    for await (const { resource } of matches) yield resource;
  }

  /** All versions of a resource, oldest first. Those written during the export are left out. */
  async *#versionsOf(type: string, id: string): AsyncGenerator<object> {
    const shortens = new ShortPage();
    const first = await this.#historyOf(type, id, { offset: 0, limit: PAGE, shortens });
    // Almost every history is one page.
    if (first.total <= PAGE && !shortens.isCut) yield* versionsOf(type, id, first);
    else yield* this.#longHistoryOf(type, id, first.total);
  }

  /** A page. Each page has a budget of its own, because the export keeps none of its texts. */
  #historyOf(type: string, id: string, range: VersionRange): Promise<HistoryPage> {
    return this.#guard.history({ type, id }, range, { ...this.session.options, budget: new TextBudget() });
  }

  async *#longHistoryOf(type: string, id: string, total: number): AsyncGenerator<object> {
    let size = PAGE;
    for (let left = total; left > 0;) {
      const limit = Math.min(size, left);
      // New versions shift the others, so positions count from the oldest version.
      const { total: now } = await this.#historyOf(type, id, { offset: 0, limit: 0 });
      const shortens = new ShortPage();
      const page = await this.#historyOf(type, id, { offset: now - total + left - limit, limit, shortens });
      // A page that ended early lacks its oldest versions, which come first.
      if (shortens.isCut) size = Math.max(1, page.entries.length);
      else {
        yield* versionsOf(type, id, page);
        left -= limit;
      }
    }
  }

  /** Resources that do not exist any more. Erased ones leave nothing to export. */
  async *#deletedOf(type: string): AsyncGenerator<object> {
    const { store, options } = this.session;
    const ofType = { project: this.id, type, past: true };
    for await (const entries of everyHistoryPage(PAGE, (page, budget) =>
      store.typeHistory!({ ...ofType, ...page }, { ...options, budget }),
    )) {
      const deletions = entries.filter((entry) => entry.kind === 'delete' && entry.erased === undefined);
      const states = await this.#guard.read(
        deletions.map(({ id }) => ({ type, id })),
        options,
      );
      for (const [index, { id, versionId }] of deletions.entries()) {
        const now = states[index];
        // The last of several deletions represents the resource.
        if (now?.status === 'gone' && now.versionId === versionId) yield* this.#versionsOf(type, id);
      }
    }
  }
}

/** The versions of a page, oldest first. */
function* versionsOf(type: string, id: string, { entries }: HistoryPage): Generator<object> {
  for (const entry of entries.toReversed()) {
    yield entry.kind === 'put' ? entry.resource : deletionLine(type, id, entry.lastUpdated);
  }
}

/** A deletion as FHIR's bulk data has them: a Bundle without an id, with one entry that deletes. */
function deletionLine(type: string, id: string, lastUpdated: string): object {
  return {
    resourceType: 'Bundle',
    type: 'transaction',
    timestamp: lastUpdated,
    entry: [{ request: { method: 'DELETE', url: `${type}/${id}` } }],
  };
}

const FIRST = ['AccessPolicy', 'ClientApplication', 'Bot', 'ProjectMembership'];

function orderedTypes(types: readonly string[]): readonly string[] {
  return [...FIRST, ...types.filter((type) => !FIRST.includes(type))];
}

const PAGE = 100;

/** Passes items from a producer to a consumer one at a time, in lockstep. */
class Handover<Item> {
  #item: Item | undefined;
  #isOver = false;
  #wakeProducer: (() => void) | undefined;
  #wakeConsumer: (() => void) | undefined;

  /** Settles when the consumer has taken the item. @returns false if the consumer has stopped */
  async give(item: Item): Promise<boolean> {
    if (this.#isOver) return false;
    this.#item = item;
    this.#wakeConsumer?.();
    await new Promise<void>((resolve) => (this.#wakeProducer = resolve));
    return !this.#isOver;
  }

  /** @returns undefined when there are no more */
  async take(): Promise<Item | undefined> {
    this.#wakeProducer?.();
    while (this.#item === undefined && !this.#isOver) {
      await new Promise<void>((resolve) => (this.#wakeConsumer = resolve));
    }
    const item = this.#item;
    this.#item = undefined;
    return item;
  }

  /** The producer has no more items. */
  end(): void {
    this.#isOver = true;
    this.#wakeConsumer?.();
  }

  /** The consumer takes no more items. */
  giveUp(): void {
    this.#isOver = true;
    this.#wakeProducer?.();
  }
}
