/** Longest list of codes kept; longer ones (all languages, say) are not help to a reader or a validator of shapes. */
const MOST_CODES = 400;

/** Code systems that are grammars: a file that calls its list of their codes complete has some common ones only. */
const GRAMMARS = new Set(['http://unitsofmeasure.org']);

/**
 * Looks up the codes of a value set, when they can be listed from the definitions at hand.
 *
 * @returns a function from a canonical URL (version ignored) to its codes and, where they all are of one, their code
 * system; undefined where a code system is not at hand, a filter is used, or the list is longer than 400.
 */
export function createValueSets(resources) {
  const valueSets = new Map();
  const codeSystems = new Map();
  for (const resource of resources) {
    if (resource.resourceType === 'ValueSet') valueSets.set(resource.url, resource);
    if (resource.resourceType === 'CodeSystem') codeSystems.set(resource.url, resource);
  }
  const cache = new Map();

  return function codesOf(canonical) {
    const url = withoutVersion(canonical);
    if (!cache.has(url)) {
      cache.set(url, undefined);
      const codes = expand(url, new Set());
      if (codes !== undefined && codes.size > 0 && codes.size <= MOST_CODES) {
        const systems = [...new Set(systemsOf(url))];
        cache.set(url, { codes: [...codes], system: systems.length === 1 ? systems[0] : undefined });
      }
    }
    return cache.get(url);
  };

  function systemsOf(url) {
    return valueSets
      .get(url)
      .compose.include.flatMap((part) => [
        ...(part.system === undefined ? [] : [part.system]),
        ...(part.valueSet ?? []).flatMap((canonical) => systemsOf(withoutVersion(canonical))),
      ]);
  }

  function expand(url, visited) {
    const compose = valueSets.get(url)?.compose;
    if (compose === undefined || visited.has(url)) return undefined;
    const inside = new Set([...visited, url]);
    const codes = new Set();
    for (const part of compose.include) {
      const included = codesOfPart(part, inside);
      if (included === undefined) return undefined;
      for (const code of included) codes.add(code);
    }
    for (const part of compose.exclude ?? []) {
      const excluded = codesOfPart(part, inside);
      if (excluded === undefined) return undefined;
      for (const code of excluded) codes.delete(code);
    }
    return codes;
  }

  /** All conditions of one include hold together: the system's codes that each of its value sets has too. */
  function codesOfPart(part, visited) {
    const sets = (part.valueSet ?? []).map((canonical) => expand(withoutVersion(canonical), visited));
    if (part.system !== undefined) sets.push(codesOfSystem(part));
    if (sets.length === 0 || sets.some((set) => set === undefined)) return undefined;
    return sets.reduce((left, right) => new Set([...left].filter((code) => right.has(code))));
  }

  function codesOfSystem(part) {
    if (part.filter !== undefined) return undefined;
    if (part.concept !== undefined) return new Set(part.concept.map((concept) => concept.code));
    const system = GRAMMARS.has(part.system) ? undefined : codeSystems.get(part.system);
    if (system?.content !== 'complete') return undefined;
    return new Set(flatten(system.concept ?? []));
  }
}

function flatten(concepts) {
  return concepts.flatMap((concept) => [concept.code, ...flatten(concept.concept ?? [])]);
}

function withoutVersion(canonical) {
  return canonical.split('|')[0];
}
