import type { ErrorCode } from '../fhir/error.js';
import type { ResourceStore } from '../store/store.js';
import { codeOf, markFailed, type Observer } from './observer.js';
import { observerOf } from './with-telemetry.js';
import type { Attributes } from './telemetry.js';

/** Facts about an interaction that become known while it runs. */
export interface ObservedFacts {
  /** Set if the interaction answers although it failed, like a query with errors. */
  readonly failure?: ErrorCode | undefined;
  /** Additional attributes of the interaction's span. */
  readonly attributes?: Attributes | undefined;
}

/**
 * Runs an interaction on a store inside its own span and counts it; without telemetry it only runs.
 *
 * @param interaction `graphql`, `invite`, `sign-in`
 */
export function observed<Result>(
  store: ResourceStore,
  interaction: string,
  facts: ObservedFacts,
  work: () => Promise<Result>,
): Promise<Result> {
  const observer = observerOf(store);
  return observer === undefined ? work() : observe(observer, interaction, facts, work);
}

function observe<Result>(
  observer: Observer,
  interaction: string,
  facts: ObservedFacts,
  work: () => Promise<Result>,
): Promise<Result> {
  const clock = performance.now();
  const attributes = { 'fhirgraph.interaction': interaction };
  const count = (outcome: ErrorCode | 'success'): void => {
    const kind = { ...attributes, 'fhirgraph.outcome': outcome };
    observer.instruments?.interactions.add(1, kind);
    observer.instruments?.duration.record((performance.now() - clock) / 1000, kind);
  };
  return observer.span({ name: `fhirgraph.${interaction}`, attributes }, async (span) => {
    try {
      const result = await work();
      for (const [name, value] of Object.entries(facts.attributes ?? {})) span.setAttribute(name, value);
      if (facts.failure !== undefined) markFailed(span, facts.failure);
      count(facts.failure ?? 'success');
      return result;
    } catch (error) {
      count(codeOf(error));
      throw error;
    }
  });
}
