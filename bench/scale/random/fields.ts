/** An element that a search parameter finds. */
export interface Field {
  /** The search parameter. */
  readonly parameter: string;
  readonly kind: FieldKind;
  /** Kinds of its values: the codes of a code, the forms of a date, the target type of a reference. */
  readonly of: readonly string[];
  readonly repeats: boolean;
  /** The part of a resource that has these values, at least one. */
  readonly put: (values: readonly unknown[]) => object;
}

export type FieldKind =
  'code' | 'concept' | 'identifier' | 'date' | 'quantity' | 'number' | 'string' | 'uri' | 'reference' | 'component';

/** A composite search parameter, and the fields that it combines. */
export interface Composite {
  readonly parameter: string;
  readonly of: readonly [string, string];
}

export interface TypeFields {
  readonly type: string;
  /** The first date orders the resources of the type in time. */
  readonly fields: readonly Field[];
  readonly composites: readonly Composite[];
}

type Put = Field['put'];

export function code(parameter: string, codes: string, put: Put = one(parameter)): Field {
  return { parameter, kind: 'code', of: codes.split(' '), repeats: false, put };
}

export function concept(parameter: string, put: Put = one(parameter), repeats = false): Field {
  return { parameter, kind: 'concept', of: [], repeats, put };
}

/** @param forms `date`, `dateTime` (each with partial ones), `instant`, `period` */
export function date(parameter: string, forms: string, put: Put): Field {
  return { parameter, kind: 'date', of: forms.split(' '), repeats: false, put };
}

export function reference(parameter: string, target: string, put: Put = one(parameter), repeats = false): Field {
  return { parameter, kind: 'reference', of: [target], repeats, put };
}

export function other(
  parameter: string,
  kind: 'identifier' | 'quantity' | 'number' | 'string' | 'uri' | 'component',
  put: Put,
  repeats = false,
): Field {
  return { parameter, kind, of: [], repeats, put };
}

export function one(element: string): Put {
  return (values) => ({ [element]: values[0] });
}

export function many(element: string): Put {
  return (values) => ({ [element]: values });
}

/** Lists of objects with one element each. */
export function within(element: string, inner: string, rest: object = {}): Put {
  return (values) => ({ [element]: values.map((value) => ({ ...rest, [inner]: value })) });
}

/** An element of several types: a string is a dateTime, an object is a Period. */
export function dateChoice(element: string): Put {
  return ([value]) => ({ [`${element}${typeof value === 'string' ? 'DateTime' : 'Period'}`]: value });
}
