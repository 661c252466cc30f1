import { randomNumber } from '../../sql/random-number.js';
import type { Statements } from '../database/statements.js';

/**
 * The codes that very many resources have: those with a set of their own in a segment.
 *
 * PERF (load): a search by one of them reads segments, so the index by value would only take space, and one page of the log
 * per code and commit. Tokens with such a code have the group -1, which the index leaves out. Rows from before a code
 * became frequent stay in it.
 *
 * The index alone finds no code that is frequent, so what a process knows must be as of its search. Each change of the table
 * is a new epoch of the index (see IndexStatus): with it, the codes are read again, and a search is repeated.
 */
export class FrequentCodes {
  #byParameter: ReadonlyMap<number, ReadonlySet<string>> | undefined;

  constructor(private readonly statements: Statements) {}

  has(parameter: number, code: string): boolean {
    return this.#of(parameter)?.has(code) === true;
  }

  /** Whether some code of the parameter is frequent. */
  hasAny(parameter: number): boolean {
    return this.#of(parameter) !== undefined;
  }

  /** Makes the next use read the codes again. */
  forget(): void {
    this.#byParameter = undefined;
  }

  #of(parameter: number): ReadonlySet<string> | undefined {
    return (this.#byParameter ??= this.#read()).get(parameter);
  }

  #read(): ReadonlyMap<number, ReadonlySet<string>> {
    const byParameter = new Map<number, Set<string>>();
    for (const [parameter, code] of this.statements.read(LIST).all() as readonly (readonly [number, string])[]) {
      byParameter.set(parameter, (byParameter.get(parameter) ?? new Set()).add(code));
    }
    return byParameter;
  }
}

/** Notes codes as frequent. Only inside a transaction. */
export function addFrequentCodes(statements: Statements, codes: readonly (readonly [number, string])[]): void {
  const add = statements.write(ADD);
  const added = codes.map(([parameter, code]) => add.run(parameter, code).changes);
  if (added.some((changes) => changes > 0)) changeEpoch(statements);
}

/** Removes the codes that no resource has anymore. It reads all tokens. Only inside a transaction. */
export function removeUnusedCodes(statements: Statements): void {
  if (statements.write(REMOVE_UNUSED).run().changes > 0) changeEpoch(statements);
}

/** Removes the codes of a project without resources. Only inside a transaction. */
export function removeCodesOf(statements: Statements, project: string): void {
  if (statements.write(REMOVE_OF_PROJECT).run(project).changes > 0) changeEpoch(statements);
}

function changeEpoch(statements: Statements): void {
  statements.write(SET_EPOCH).run(randomNumber(52));
}

const LIST = 'SELECT parameter, code FROM frequent_code';
const ADD = 'INSERT OR IGNORE INTO frequent_code (parameter, code) VALUES (?, ?)';
const REMOVE_UNUSED = `DELETE FROM frequent_code WHERE (parameter, code) NOT IN (
  SELECT parameter, code FROM token WHERE grp <= 0 AND code IS NOT NULL)`;
const REMOVE_OF_PROJECT = `DELETE FROM frequent_code WHERE parameter IN (
  SELECT p.key FROM parameter p JOIN collection c ON c.key = p.collection WHERE c.project = ?)`;
const SET_EPOCH = "INSERT OR REPLACE INTO meta (name, value) VALUES ('index_epoch', ?)";
