/** The weights of the media ranges in an `Accept` header, by range in lower case, without parameters. */
export function acceptedTypes(accept: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>();
  for (const range of accept.toLowerCase().split(',', MAX_RANGES)) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    const weight = parameters.map((one) => /^q=([\d.]+)$/.exec(one)?.[1]).find((one) => one !== undefined);
    weights.set(type, weight === undefined ? 1 : Number(weight));
  }
  return weights;
}

/**
 * The type of an answer in JSON: our own type, or plain JSON if the client prefers that. Undefined if the client
 * accepts neither.
 */
export function preferredJson<Own extends string>(
  accept: string | null,
  own: Own,
): Own | 'application/json' | undefined {
  if (accept === null || accept.trim() === '') return own;
  const weights = acceptedTypes(accept);
  const weight = (type: string): number => weights.get(type) ?? weights.get('application/*') ?? weights.get('*/*') ?? 0;
  const [ofOwn, ofPlain] = [weight(own), weight('application/json')];
  if (ofOwn === 0 && ofPlain === 0) return undefined;
  return ofOwn >= ofPlain ? own : 'application/json';
}

const MAX_RANGES = 50;
