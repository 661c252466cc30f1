import { FhirError } from '../../fhir/error.js';
import type { CallOptions } from '../../store/call-options.js';
import { CallPace } from '../../store/call-pace.js';
import type { ResourceStore } from '../../store/store.js';
import type { ServerCaller, SystemCaller } from '../caller.js';
import { type GuardedWrite, withIndex } from '../contract.js';
import { answeredBy } from '../evaluate/deciding.js';
import { WrittenResources } from '../evaluate/written-resources.js';
import type { DecidedWrite } from './decided-write.js';
import type { CommitState } from './member/commit-state.js';
import { decideWrite } from './member/decide-write.js';
import { loadStored } from './member/load-stored.js';
import type { ReadyWrite } from './ready-write.js';
import { decideTrusted, type TrustedState } from './trusted/decide-trusted.js';
import { loadTrusted } from './trusted/load-trusted.js';
import { assertWithinReach } from './trusted/trusted-reach.js';

/** Loads the data for a member's writes, and decides them. */
export async function decideMemberWrites(
  store: ResourceStore,
  who: Pick<CommitState, 'caller' | 'validation'>,
  writes: readonly GuardedWrite[],
  options: CallOptions | undefined,
): Promise<readonly ReadyWrite[]> {
  const stored = await loadStored(store, who.caller, writes, options);
  const hasTerminology = store.terminology !== undefined;
  const state: CommitState = {
    ...who,
    hasTerminology,
    stored,
    written: WrittenResources.none(store.model, stored.now),
  };
  return decideInOrder(state, writes, options, (now, write, from) =>
    answeredBy(store, decideWrite(now, write, from), options),
  );
}

/** Loads the data for the writes of trusted code, and decides them. */
export async function decideTrustedWrites(
  store: ResourceStore,
  caller: SystemCaller | ServerCaller,
  writes: readonly GuardedWrite[],
  options: CallOptions | undefined,
): Promise<readonly ReadyWrite[]> {
  writes.forEach((write, from) => assertWithinReach(caller, write, from));
  const loaded = await loadTrusted(store, caller, writes, options);
  const state: TrustedState = {
    model: store.model,
    hasTerminology: store.terminology !== undefined,
    caller,
    ...loaded,
    written: WrittenResources.none(store.model, Date.now()),
  };
  return decideInOrder(state, writes, options, decideTrusted);
}

async function decideInOrder<State>(
  first: State,
  writes: readonly GuardedWrite[],
  options: CallOptions | undefined,
  decide: (state: State, write: GuardedWrite, from: number) => DecidedWrite<State> | Promise<DecidedWrite<State>>,
): Promise<readonly ReadyWrite[]> {
  const ready: ReadyWrite[] = [];
  let state = first;
  const pace = new CallPace(options);
  for (let from = 0; from < writes.length; from++) {
    if (pace.isSpent) await pace.next();
    try {
      const deciding = decide(state, writes[from]!, from);
      // PERF: a synchronous decision does not wait for a promise.
      const decided = deciding instanceof Promise ? await deciding : deciding;
      ready.push(...decided.ready);
      state = decided.state;
    } catch (error) {
      throw error instanceof FhirError ? withIndex(error, from) : error;
    }
  }
  return ready;
}
