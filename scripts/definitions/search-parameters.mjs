import { createRequire } from 'node:module';
import { alternatives, leadingName, pathSteps } from './path-expression.mjs';
import { elementsAt } from './element-walk.mjs';

const fhirpath = createRequire(import.meta.url)('fhirpath');

/** Types that stand for every resource; their parameters are stored once and added to each type by the loader. */
const BASES = ['Resource', 'DomainResource'];

const TYPE_OF_ELEMENT = { CodeableConcept: 'token', boolean: 'token', Period: 'date' };

/**
 * Components, by their parameter and code, for which R4 gives an expression of the wrong type: it exchanges those of the two
 * components of `relationship`, so that a reference would be searched in a code and a token in a reference.
 */
const CORRECTED_COMPONENTS = {
  'DocumentReference.relationship relatesto': 'target',
  'DocumentReference.relationship relation': 'code',
};

/**
 * SearchParameters by resource type, in the compact form of src/fhir/definitions-file.ts.
 *
 * Left out: parameters without an expression (`_text`, `_content`, `_query`), which need a text index or a named query.
 * Where two share type and code, R4 core wins over Medplum.
 */
export function compactSearchParameters({ core, medplum }, types, targets, notes) {
  const byUrl = new Map([...core, ...medplum].map((parameter) => [parameter.url, parameter]));
  const byType = {};
  const seen = new Set();
  const notPlain = new Map();
  for (const parameter of core) add(parameter, 'R4');
  for (const parameter of medplum) add(parameter, 'Medplum');
  for (const [expression, users] of notPlain) notes.push(`Not a plain path (${users.join(', ')}): ${expression}`);
  return byType;

  function add(parameter, origin) {
    if (parameter.expression === undefined) {
      notes.push(`Left out, no expression: ${parameter.code}`);
      return;
    }
    for (const base of parameter.base) {
      const key = `${base}.${parameter.code}`;
      if (types[base] === undefined) notes.push(`Left out, unknown type: ${key}`);
      else if (seen.has(key)) notes.push(`Left out, ${origin} defines ${key} again: ${parameter.id}`);
      else {
        seen.add(key);
        (byType[base] ??= []).push(rowFor(parameter, base));
      }
    }
  }

  function rowFor(parameter, base) {
    const compiled = compile(parameter.expression, base, `${base}.${parameter.code}`);
    const row = {
      code: parameter.code,
      type: parameter.type,
      expression: compiled.expression,
      short: shortOf(parameter, base),
    };
    if (compiled.path !== undefined) row.path = compiled.path;
    if (parameter.type === 'reference') {
      const number = targets.number(targetTypes(parameter, base, compiled.path));
      if (number !== undefined) row.targets = number;
    }
    if (parameter.component !== undefined) {
      row.components = parameter.component.map((component) => componentOf(component, base, parameter, compiled.path));
    }
    return row;
  }

  function componentOf({ definition, expression: stated }, base, parameter, outerPath) {
    const user = `${base}.${parameter.code}`;
    const part = byUrl.get(definition) ?? inferredPart(stated, base, outerPath);
    const expression = CORRECTED_COMPONENTS[`${user} ${part.code}`] ?? stated;
    if (expression !== stated) notes.push(`Corrected component ${part.code} of ${user}: ${stated} to ${expression}`);
    const compiled = compile(expression, undefined, `${user} component`);
    if (!byUrl.has(definition))
      notes.push(`Component of ${user} inferred, its definition is absent: ${part.code} ${part.type}`);
    return {
      code: part.code,
      type: part.type,
      expression: compiled.expression,
      ...(compiled.path === undefined ? {} : { path: compiled.path }),
    };
  }

  /** Code and type of a component whose own SearchParameter is not at hand. */
  function inferredPart(expression, base, outerPath) {
    const [element] = elementsAt(types, base, [...outerPath[0], expression]);
    return { code: expression, type: TYPE_OF_ELEMENT[element.type] };
  }

  /** The alternatives for one type (all, without a type), as text and as path. */
  function compile(expression, base, user) {
    const text = correctTypeNames(expression, user);
    const trees = alternatives(fhirpath.parse(text));
    const texts = splitAlternatives(text);
    if (texts.length !== trees.length) throw new Error(`${user}: cannot split ${text}`);
    const kept = trees.flatMap((tree, index) =>
      appliesTo(base, leadingName(tree)) ? [{ tree, text: texts[index] }] : [],
    );
    if (kept.length === 0) throw new Error(`${user}: no alternative applies in ${text}`);
    const paths = kept.map(({ tree }) => pathSteps(tree, (name) => name === base || BASES.includes(name)));
    const joined = kept.map((one) => one.text).join(' | ');
    if (!paths.includes(undefined)) return { expression: joined, path: paths };
    notPlain.set(joined, [...(notPlain.get(joined) ?? []), user]);
    return { expression: joined };
  }

  function appliesTo(base, name) {
    return base === undefined || name === base || BASES.includes(name) || types[name]?.kind !== 'resource';
  }

  /** R4 writes `ofType(DateTime)` in places, a type that FHIR does not have. */
  function correctTypeNames(expression, user) {
    return expression.replace(/(\b(?:ofType|as|is)\(|\b(?:as|is) )([A-Z]\w*)/g, (whole, before, name) => {
      const lower = name[0].toLowerCase() + name.slice(1);
      if (types[name] !== undefined || types[lower] === undefined) return whole;
      notes.push(`Corrected type name in ${user}: ${name} to ${lower}`);
      return before + lower;
    });
  }

  /** What the parameter says, narrowed by what its elements allow; undefined for any type. */
  function targetTypes(parameter, base, path) {
    const stated = parameter.target === undefined || parameter.target.length > 100 ? undefined : parameter.target;
    const allowed = path === undefined ? undefined : union(path.map((steps) => alternativeTargets(base, steps)));
    if (stated === undefined || allowed === undefined) return stated ?? allowed;
    const both = stated.filter((type) => allowed.includes(type));
    return both.length > 0 ? both : allowed;
  }

  function alternativeTargets(base, steps) {
    const last = steps.at(-1);
    if (last?.resolvesTo !== undefined) return [last.resolvesTo];
    return union(
      elementsAt(types, base, steps).flatMap((element) =>
        element.type.split(' ').map((type) => {
          const [, name, number] = /^(\w+)(?:\((\d+)\))?$/.exec(type);
          // A resource inside (`Bundle.entry.resource`) is of any type, and so is what a uri names.
          if (name === 'Resource' || name === 'uri') return undefined;
          if (name !== 'Reference' && name !== 'canonical') return [];
          return number === undefined ? undefined : targets.lists[number];
        }),
      ),
    );
  }
}

function union(lists) {
  return lists.length === 0 || lists.includes(undefined) ? undefined : [...new Set(lists.flat())];
}

/** Splits at the `|` outside of parentheses and quotes, without the parentheses around an alternative. */
function splitAlternatives(text) {
  const parts = [''];
  let depth = 0;
  let quoted = false;
  for (const character of text) {
    if (character === "'") quoted = !quoted;
    if (!quoted && character === '(') depth += 1;
    if (!quoted && character === ')') depth -= 1;
    if (!quoted && depth === 0 && character === '|') parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim().replace(/^\(([^()]*(?:\([^()]*\)[^()]*)*)\)$/, '$1'));
}

/** The line about this type where one parameter serves several. */
function shortOf(parameter, base) {
  const text = parameter.description ?? '';
  const line = text.split(/\r?\n/).find((one) => one.startsWith(`* [${base}]`));
  return (line?.replace(/^\* \[\w+\]\([^)]*\):\s*/, '') ?? text).replace(/\s+/g, ' ').trim();
}
