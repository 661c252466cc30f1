import { setTimeout as delay } from 'node:timers/promises';
import { type Caller, executeFhirGraphql, type ResourceStore, signIn, systemCaller } from 'fhirgraph';
import { quantilesOf } from '../measured.js';
import type { OpenStore } from '../open-store.js';
import { Turns } from '../turns.js';
import type { RandomQuestion } from './questions.js';
import { PROJECT } from './random-contents.js';

/** The time of one question, in microseconds of CPU. */
export interface Asked {
  readonly question: RandomQuestion;
  readonly p50: number;
  readonly p95: number;
  /** The longest turn of the event loop. */
  readonly turn: number;
  /** The run that took longest. */
  readonly worst: number;
}

/** The number of runs that watch turns, which itself takes CPU time. */
const WATCHED = 2;
/** Number of resources before a deep page. An offset reads all of them. */
const MOST_BEFORE = 20_000;

/** Asks questions of one store, in one process. */
export class Asker {
  readonly #store: ResourceStore;
  readonly #callers = new Map<string | undefined, Caller>();

  constructor(store: ResourceStore) {
    this.#store = store;
  }

  /** Asks once for each value of the question. A late question is asked again, and the shorter time of each value counts. */
  async measure(question: RandomQuestion, runs: number, { cpu }: Pick<OpenStore, 'cpu'>): Promise<Asked> {
    await this.answer(question, runs);
    let times = await this.#timesOf(question, runs, cpu);
    if (isLate(question, quantilesOf(times).p95)) {
      const again = await this.#timesOf(question, runs, cpu);
      times = times.map((time, run) => Math.min(time, again[run]!));
    }
    const turns = new Turns();
    const asks = await Promise.all(Array.from({ length: WATCHED }, (_, run) => this.#prepare(question, runs + run)));
    turns.start();
    for (const ask of asks) await ask();
    return { question, ...quantilesOf(times), turn: turns.stop(), worst: times.indexOf(Math.max(...times)) };
  }

  /** The data of the answer, which must be equal for all stores with the same resources. */
  async answer(question: RandomQuestion, run: number): Promise<unknown> {
    return (await this.#prepare(question, run))();
  }

  async #timesOf(question: RandomQuestion, runs: number, cpu: () => number): Promise<number[]> {
    const times: number[] = [];
    for (let run = 0; run < runs; run++) {
      const ask = await this.#prepare(question, run);
      await delay(1);
      const used = cpu();
      await ask();
      times.push(cpu() - used);
    }
    return times;
  }

  /** Finds the caller and the cursor. */
  async #prepare(question: RandomQuestion, run: number): Promise<() => Promise<unknown>> {
    const caller = await this.#callerOf(question.member);
    if (question.first === undefined) return () => this.#ask(caller, question.text(run), {});
    const next = await this.#cursorOf(caller, question.first(run), (run * 7919) % MOST_BEFORE);
    if (next === undefined) return async () => 'there is only one page';
    return () => this.#ask(caller, question.text(run), { cursor: next });
  }

  /** The cursor after this many matches, or after fewer if there are fewer matches. */
  async #cursorOf(caller: Caller, text: string, offset: number): Promise<string | undefined> {
    const before = await this.#ask(caller, text, { offset });
    const { next } = (before === null ? {} : Object.values(before)[0]) as { readonly next?: string | null };
    if (typeof next === 'string') return next;
    return offset === 0 ? undefined : this.#cursorOf(caller, text, Math.floor(offset / 8));
  }

  async #ask(caller: Caller, text: string, variables: { readonly [name: string]: unknown }): Promise<object | null> {
    const context = { store: this.#store, caller, variables, limits: { timeout: 60_000 } };
    const { data, errors } = await executeFhirGraphql(text, context);
    // The answer for a parent that the caller cannot see is a valid answer.
    const failed = errors?.find(({ extensions }) => extensions.code !== 'not-found');
    if (failed !== undefined) throw new Error(`${failed.message}: ${text}`);
    return data ?? null;
  }

  async #callerOf(member: string | undefined): Promise<Caller> {
    const known = this.#callers.get(member);
    if (known !== undefined) return known;
    const caller =
      member === undefined
        ? systemCaller(PROJECT)
        : await signIn(this.#store, { project: PROJECT, user: `User/${member}` });
    this.#callers.set(member, caller);
    return caller;
  }
}

export function isLate({ target }: RandomQuestion, microseconds: number): boolean {
  return target !== undefined && microseconds > target * 1000;
}
