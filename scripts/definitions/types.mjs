import { createTargetLists } from './targets.mjs';

const BASES = ['DomainResource', 'Resource', 'BackboneElement', 'Element'];

/**
 * StructureDefinitions in the compact form of src/fhir/definitions-file.ts.
 *
 * Left out: profiles on types (elements that refer to one get the type it constrains) and logical models.
 */
export function compactTypes(structures, codesOf, notes) {
  const typeOfUrl = new Map(structures.map((structure) => [structure.url, typeNameOf(structure)]));
  const kept = structures.filter((structure) => structure.derivation !== 'constraint' && structure.kind !== 'logical');
  const dropped = structures.filter((structure) => !kept.includes(structure)).map((structure) => structure.name);
  notes.push(`Left out, profiles on types and logical models: ${dropped.join(', ')}`);

  const targets = createTargetLists();
  const codes = [];
  const codeNumbers = new Map();
  const unlisted = new Set();
  const types = {};
  /** The elements of `_summary=true`, by the type that has them. */
  const summary = {};
  for (const structure of kept) addStructure(structure);
  notes.push(`Required bindings without a list of codes: ${[...unlisted].sort().join(', ')}`);
  return { types, targets, codes, summary };

  function addStructure(structure) {
    const kind =
      structure.kind === 'primitive-type' ? 'primitive' : structure.kind === 'resource' ? 'resource' : 'complex';
    const [root, ...elements] = structure.snapshot.element;
    const name = typeNameOf(structure);
    types[name] = {
      kind,
      ...(structure.abstract ? { abstract: true } : {}),
      short: oneLine(root.short ?? structure.description ?? name),
      elements: [],
    };
    if (kind === 'primitive') return;
    const parents = new Set(elements.map((element) => parentPath(element.path)));
    for (const element of elements) {
      if (element.path.split('.').length > 2 || element.path.startsWith(`${structure.type}.`)) {
        addElement(structure, element, parents);
      }
    }
  }

  function addElement(structure, element, parents) {
    if (element.sliceName !== undefined || element.max === '0') return;
    const owner = types[backboneName(parentPath(element.path))];
    const name = element.path.slice(element.path.lastIndexOf('.') + 1);
    const row = { name, type: typeText(element, parents), short: oneLine(element.short ?? element.definition ?? name) };
    if (element.max !== '1') row.array = true;
    if (element.min > 0) row.required = true;
    const list = codesNumber(structure, element);
    if (list !== undefined) row.codes = list;
    owner.elements.push(row);
    if (element.isSummary && structure.kind === 'resource') {
      (summary[backboneName(parentPath(element.path))] ??= []).push(name);
    }
    if (parents.has(element.path)) {
      types[backboneName(element.path)] = { kind: 'complex', path: element.path, short: row.short, elements: [] };
    }
  }

  /** `string`, `Reference(3)` with the number of its target list, several with blanks between for a choice. */
  function typeText(element, parents) {
    if (element.contentReference !== undefined) return backboneName(element.contentReference.replace(/^.*#/, ''));
    if (parents.has(element.path)) return backboneName(element.path);
    return element.type.map((type) => typeWithTargets(element, type)).join(' ');
  }

  function typeWithTargets(element, type) {
    const code = typeCode(element, type);
    const number = code === 'Reference' || code === 'canonical' ? targets.number(targetTypes(type)) : undefined;
    return number === undefined ? code : `${code}(${number})`;
  }

  function typeCode(element, type) {
    // R4 declares Resource.id with the FHIRPath system type and the wrong FHIR type (string).
    if (element.base?.path === 'Resource.id') return 'id';
    if (type.code.startsWith('http://hl7.org/fhirpath/')) {
      return type.extension.find((one) => one.url.endsWith('structuredefinition-fhir-type')).valueUrl;
    }
    return type.code.startsWith('http') ? known(type.code) : type.code;
  }

  function targetTypes(type) {
    const names = (type.targetProfile ?? []).map(known).filter((name) => name !== undefined);
    if (names.length === 0 || names.some((name) => types[name]?.abstract || name === 'Resource')) return undefined;
    return names;
  }

  function known(url) {
    const bare = url.split('|')[0];
    // Medplum's own types are named without their base now and then.
    const name = typeOfUrl.get(bare) ?? [...typeOfUrl.values()].find((one) => one === bare);
    if (name === undefined) notes.push(`Left out, unknown type: ${url}`);
    return name;
  }

  function codesNumber(structure, element) {
    const binding = element.binding;
    if (binding?.strength !== 'required' || binding.valueSet === undefined) return undefined;
    if (!element.type.some((type) => ['code', 'Coding', 'CodeableConcept', 'string', 'uri'].includes(type.code)))
      return undefined;
    const list = codesOf(binding.valueSet);
    if (list === undefined) {
      unlisted.add(binding.valueSet.replace(/^.*\/|\|.*$/g, ''));
      return undefined;
    }
    const key = JSON.stringify(list);
    if (!codeNumbers.has(key)) codeNumbers.set(key, codes.push(list) - 1);
    return codeNumbers.get(key);
  }
}

/** Medplum's own types leave `type` and `name` equal; HL7's profiles do not. */
function typeNameOf(structure) {
  return structure.kind === 'logical' ? structure.name : structure.type;
}

function parentPath(path) {
  return path.slice(0, path.lastIndexOf('.'));
}

/** `Patient.contact` is `PatientContact`, the name @medplum/fhirtypes gives it. */
function backboneName(path) {
  return path
    .split('.')
    .map((part) => part[0].toUpperCase() + part.slice(1))
    .join('');
}

/** HL7's short texts are kept whole; Medplum has definitions only, some of them long, of which the first sentence says enough. */
function oneLine(text) {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= 160 ? line : line.replace(/(?<=\w{3}[.;]) .*$/, '');
}

/** The same types as rows of plain data; what a type has from an abstract base is said by the name of that base. */
export function encodeTypes(types) {
  return Object.fromEntries(
    Object.entries(types).map(([name, type]) => {
      const base = BASES.find(
        (candidate) => candidate !== name && beginsWith(type.elements, types[candidate].elements),
      );
      const own = base === undefined ? type.elements : type.elements.slice(types[base].elements.length);
      const { elements: _elements, abstract: _abstract, ...rest } = type;
      return [name, { ...rest, ...(base === undefined ? {} : { base }), elements: own.map(encodeElement) }];
    }),
  );
}

function beginsWith(elements, inherited) {
  return (
    inherited.length <= elements.length && inherited.every((element, index) => sameShape(element, elements[index]))
  );
}

function sameShape(left, right) {
  return (
    left.name === right.name &&
    left.type === right.type &&
    left.array === right.array &&
    left.required === right.required
  );
}

function encodeElement({ name, type, short, array, required, codes }) {
  const flags = (array ? 1 : 0) + (required ? 2 : 0);
  return codes === undefined ? [name, type, flags, short] : [name, type, flags, short, codes];
}
