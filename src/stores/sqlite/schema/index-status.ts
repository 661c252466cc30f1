import type { FhirModel } from '../../../fhir/model/fhir-model.js';
import type { TypeParameter } from '../../../search/criteria/parameters-of.js';
import { indexChanging, indexTakenOver } from '../../../store/index-state.js';
import { ATTEMPTS } from '../../../store/with-retries.js';
import { type Codes, codesOf, INSIDE, union } from '../../sql/index-changes.js';
import {
  assertSearchable,
  type IndexState,
  isComplete,
  isOfThisVersion,
  pendingIn,
  readIndexState,
  workOn,
} from '../../sql/index-state.js';
import type { FrequentCodes } from '../rows/frequent-codes.js';
import { ACCESS_EPOCH } from '../rows/access-epoch.js';
import { onIndexOfFile } from '../rows/index-port.js';
import { REMOVAL_EPOCH } from '../rows/removal-epoch.js';
import { assertInPlace, type OpenedFile } from '../database/database-file.js';
import type { VersionMark } from '../rows/versions.js';
import type { Statements } from '../database/statements.js';

/**
 * Tracks which parameters can be searched: their index rows are complete and made with the definitions of this process.
 *
 * Other processes may change that at any time, so the state is compared with the file after each search and in each
 * write, with one look-up.
 */
export class IndexStatus {
  #removals: string | undefined;
  #losses = 0;
  /** The newest known version. It stays in the file unless the file is put back to an earlier copy, or content is removed. */
  #newest: VersionMark | undefined;
  #known: IndexState | undefined;
  #seen: SeenEpoch | undefined;

  /** @param onRemoval called when the file has lost content since the last check: see removal-epoch.ts */
  constructor(
    private readonly statements: Statements,
    private readonly model: FhirModel,
    private readonly frequentCodes: FrequentCodes,
    private readonly file: OpenedFile | undefined,
    private readonly onRemoval: () => void,
  ) {}

  /** Checks whether the file has lost content. */
  noteRemovals(): void {
    this.#look();
  }

  /** How often the file was found to have lost content. */
  get losses(): number {
    return this.#losses;
  }

  /** Notes the newest version of a commit by this connection. */
  noteWritten(newest: VersionMark | undefined): void {
    this.#newest = newest ?? this.#newest;
  }

  /** A text that changes with every commit that may decide about access. */
  accessEpoch(): string {
    return this.#look().access;
  }

  /** Whether no parameter is pending in any project. */
  isComplete(): boolean {
    this.refresh();
    return isComplete(this.#state());
  }

  /**
   * Runs a search with parameters that are searchable before and after it, and so throughout: no epoch comes twice, and
   * within one epoch parameters only become searchable.
   *
   * @throws FhirError `unavailable` - a parameter is not searchable
   */
  whileSearchable<Result>(project: string, parameters: () => readonly TypeParameter[], search: () => Result): Result {
    // Removals may come faster than searches end, so they cause one repetition only: its names were all looked up in
    // this call.
    let mayRepeat = true;
    for (let attempt = 1; attempt <= ATTEMPTS.search; attempt++) {
      // Parameters may have become searchable since.
      if (!isComplete(this.#state())) this.refresh();
      const state = this.#state();
      if (!isComplete(state)) onIndexOfFile(this.statements, assertSearchable(state, project, parameters()));
      const losses = this.#losses;
      const result = search();
      const isSame = this.#look().epoch === state.epoch;
      if (isSame && (this.#losses === losses || !mayRepeat)) return result;
      if (!isSame) this.#known = undefined;
      mayRepeat &&= this.#losses === losses;
    }
    throw indexChanging();
  }

  /** The parameters that are not searchable in a project. */
  pendingIn(project: string): readonly TypeParameter[] {
    this.refresh();
    return onIndexOfFile(this.statements, pendingIn(this.#state(), project, this.model));
  }

  /** Whether the rows of the file are made with the definitions of this process. */
  get isOurs(): boolean {
    this.refresh();
    return this.#state().isOurs;
  }

  /** The parameters of a type whose rows say nothing in a project: incomplete ones, and those of other definitions. */
  unknownCodes(project: string, type: string): Codes {
    const pending = onIndexOfFile(this.statements, workOn(project, [type])).get(type)?.codes ?? [];
    const { foreign, isOurs } = this.#state();
    return isOurs ? pending : union(union(pending, codesOf(foreign, type)), [INSIDE]);
  }

  /**
   * Asserts that a write transaction may proceed.
   *
   * @throws FhirError `unavailable` - the rows of the file are of other definitions, and this process would write other rows; or
   * the file was removed or replaced
   */
  assertOurs(): void {
    if (this.file !== undefined) assertInPlace(this.file);
    // Names that are written as numbers must be those of this copy of the file.
    this.#look();
    const row = this.statements.read(READ_VERSION).get();
    const [version, epoch, removals] = row as [string | null, string | null, string | null];
    this.#compareRemovals(removals);
    // Only a newer version is refused here; rows of an older one have been taken over.
    isOfThisVersion(version);
    if (this.#known?.epoch !== epoch) this.#known = undefined;
    if (!this.#state().isOurs) throw indexTakenOver();
  }

  /** Re-reads the state on the next use if the file has changed. */
  refresh(): void {
    if (this.#known !== undefined && this.#known.epoch !== this.#look().epoch) this.#known = undefined;
  }

  /** Re-reads the state on the next use, after a change by this process that may be rolled back. */
  forget(): void {
    this.#known = undefined;
    this.#seen = undefined;
  }

  /** Checks for removals again, after a removal by this process that may be rolled back. */
  forgetRemovals(): void {
    this.#removals = undefined;
    this.#seen = undefined;
  }

  #state(): IndexState {
    if (this.#known !== undefined) return this.#known;
    this.frequentCodes.forget();
    return (this.#known = onIndexOfFile(this.statements, readIndexState(this.model)));
  }

  #compareRemovals(removals: string | null): void {
    const now = removals ?? '0';
    if (this.#removals === now) return;
    this.#removals = now;
    // The newest version may be among what was removed.
    this.#newest = undefined;
    this.#noteLoss();
  }

  #noteLoss(): void {
    this.#losses += 1;
    this.onRemoval();
  }

  /**
   * Keys of versions and numbers of names, by which caches are keyed, are used again after a file was put back to an
   * earlier copy, for example by SQLite's backup. Then the newest version of before is gone, or another one has its key.
   */
  #compareNewest(): void {
    const before = this.#newest;
    if (before !== undefined && this.statements.read(IS_THERE).get(...before) === undefined) this.#noteLoss();
    this.#newest = this.statements.read(READ_NEWEST).get() as VersionMark | undefined;
  }

  /** PERF (scale): looking up the epochs takes 10 µs, the number of commits 3 µs. Without commits, the epochs are unchanged. */
  #look(): SeenEpoch {
    const [others] = this.statements.read(COUNT_COMMITS_OF_OTHERS).get() as [number];
    const [own] = this.statements.read(COUNT_OWN_CHANGES).get() as [number];
    if (this.#seen?.others !== others || this.#seen.own !== own) {
      const row = this.statements.read(READ_EPOCH).get();
      const [epoch, removals, access] = row as [string | null, string | null, string | null];
      const isOfOthers = this.#seen?.others !== others;
      this.#seen = { others, own, epoch: epoch ?? '', access: access ?? '0' };
      this.#compareRemovals(removals);
      if (isOfOthers) this.#compareNewest();
    }
    return this.#seen;
  }
}

/** The epochs, and the state of the file when they were read. */
interface SeenEpoch {
  /** Changes when another connection commits. */
  readonly others: number;
  /** Rows that this connection has changed. */
  readonly own: number;
  readonly epoch: string;
  readonly access: string;
}

const ofMeta = (name: string): string => `(SELECT value FROM meta WHERE name = '${name}')`;
const READ_EPOCH = `SELECT ${ofMeta('index_epoch')}, ${ofMeta(REMOVAL_EPOCH)}, ${ofMeta(ACCESS_EPOCH)}`;
const READ_NEWEST = 'SELECT key, resource, version, updated, sum FROM version ORDER BY key DESC LIMIT 1';
const IS_THERE = 'SELECT 1 FROM version WHERE key = ? AND resource = ? AND version = ? AND updated = ? AND sum IS ?';
const COUNT_COMMITS_OF_OTHERS = 'PRAGMA data_version';
const COUNT_OWN_CHANGES = 'SELECT total_changes()';
const READ_VERSION = `SELECT ${ofMeta('index_version')}, ${ofMeta('index_epoch')}, ${ofMeta(REMOVAL_EPOCH)}`;
