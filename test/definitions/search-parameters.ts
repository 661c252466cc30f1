import type { AnyResource } from '../../src/index.js';

/** A SearchParameter resource with values for the elements that most tests ignore. */
export function searchParameter(elements: {
  readonly code: string;
  readonly base: string | readonly string[];
  readonly type: string;
  readonly expression?: string;
  readonly [element: string]: unknown;
}): AnyResource {
  const { code, base, ...others } = elements;
  const resource = {
    resourceType: 'SearchParameter',
    url: `https://clinic.example/SearchParameter/${code}`,
    name: code,
    status: 'active',
    description: `Own parameter ${code}`,
    code,
    base: typeof base === 'string' ? [base] : base,
    ...others,
  };
  return resource;
}

/** The url of a custom extension. */
export const EXTENSIONS = 'https://clinic.example/StructureDefinition/';
