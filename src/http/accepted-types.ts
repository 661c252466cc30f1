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

const MAX_RANGES = 50;
