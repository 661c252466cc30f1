/**
 * Shared steps of both SQL stores. A step asks its store by yielding a function of the store's port, and resumes with
 * the answer. It yields nothing at a point where other work may run. Equal answers give equal results.
 *
 * ```ts
 * interface Port { rows(names: readonly string[]): Answer<readonly string[]> }
 * function* shout(name: string): Ask<Port, string> {
 *   const [row] = yield* ask((port: Port) => port.rows([name]));
 *   return row!.toUpperCase();
 * }
 * runNow(shout('a'), sqlitePort);                  // 'A'
 * await runAwaiting(shout('a'), postgresPort, pace); // 'A'
 * ```
 *
 * Deadlines and turns of the event loop are up to the drivers alone. On PostgreSQL a question is a round trip, so a step
 * asks for all that it needs at once.
 */
export type Ask<Port, Result> = Generator<Question<Port> | undefined, Result, unknown>;

/** What a port answers: SQLite at once, PostgreSQL later. */
export type Answer<Value> = Value | Promise<Value>;

/** The type of a question of {@link Ask}. */
type Question<Port> = (port: Port) => Answer<unknown>;

/** Asks one question. */
export function* ask<Port, Value>(question: (port: Port) => Answer<Value>): Ask<Port, Value> {
  return (yield question) as Value;
}

/** A port that answers at once. */
export type SyncPort<Port> = {
  readonly [Name in keyof Port]: Port[Name] extends (...given: infer Given) => Answer<infer Value>
    ? (...given: Given) => Value
    : Port[Name];
};

/**
 * Runs steps to their end at once.
 *
 * @param check called before each question and at each pause; throws to end the steps, for example at a deadline
 */
export function runNow<Port, Result>(steps: Ask<Port, Result>, port: SyncPort<Port>, check?: () => void): Result {
  let step = steps.next();
  while (step.done !== true) {
    const question = step.value;
    let answer: unknown;
    try {
      check?.();
      answer = question?.(port as Port);
      if (answer instanceof Promise)
        throw new TypeError('A port of runNow answers at once, this one returned a promise');
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(answer);
  }
  return step.value;
}

/**
 * Runs steps to their end and awaits each answer. Other work runs at pauses, once a turn is spent.
 *
 * @param check as in {@link runNow}
 */
export async function runAwaiting<Port, Result>(
  steps: Ask<Port, Result>,
  port: Port,
  pace: { readonly isSpent: boolean; next(): Promise<void> },
  check?: () => void,
): Promise<Result> {
  let step = steps.next();
  while (step.done !== true) {
    const question = step.value;
    let answer: unknown;
    try {
      check?.();
      if (question !== undefined) answer = await question(port);
      else if (pace.isSpent) await pace.next();
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(answer);
  }
  return step.value;
}
