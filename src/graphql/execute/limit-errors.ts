import { LimitError, type Limits } from '../limits.js';

export function tooManyRows({ rows }: Limits, value: number): LimitError {
  const message = `The answer needs more than ${rows} resources; narrow the searches or page with _count`;
  return new LimitError('rows', rows, message, value);
}

export function tooManyBytes({ bytes }: Limits): LimitError {
  return new LimitError(
    'bytes',
    bytes,
    `The answer needs more than ${bytes} bytes of stored resources; page with a smaller _count, narrow the searches, or split the query`,
  );
}

export function tooManyValues({ values }: Limits): LimitError {
  return new LimitError(
    'values',
    values,
    `The answer holds more than ${values} values, and each 100 characters of a long text count as one; select fewer fields, or page with _count`,
  );
}

export function tooManyErrors({ errors }: Limits): LimitError {
  return new LimitError(
    'errors',
    errors,
    `More than ${errors} fields failed; ask for fewer, or leave out broken references with optional: true`,
  );
}

export function tooManyResolverCalls({ resolverCalls }: Limits): LimitError {
  return new LimitError(
    'resolverCalls',
    resolverCalls,
    `The query needs more than ${resolverCalls} calls of the service's own fields; select them with fewer different arguments`,
  );
}

export function tooManyCalls({ storeCalls }: Limits): LimitError {
  return new LimitError(
    'storeCalls',
    storeCalls,
    `The query needs more than ${storeCalls} calls to the store; ask for fewer lists and references`,
  );
}
